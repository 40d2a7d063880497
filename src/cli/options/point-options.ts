// Options that name a point in a history, and values for calls: of `rewind` and `fork`.

import type { Command } from "commander";
import { errorMessage } from "../../core/errors/errors.ts";
import type { CutPoint } from "../../core/repair/cut.ts";
import type { Replacement } from "../../core/repair/replace.ts";
import { givenValue } from "../../server/views/values.ts";
import { CliError } from "../exit-codes.ts";
import { collectWhole } from "./filter-options.ts";
import { wholeNumber } from "./numbers.ts";

export interface PointOptions {
  readonly before?: number;
  readonly beforeActivity?: string;
  readonly beforeStep?: string;
  readonly beforeChild?: string;
  readonly nth?: number;
  readonly replace?: readonly string[];
}

export function addPointOptions(command: Command): Command {
  return command
    .option("--before <sequence>", "the first event that is not copied", wholeNumber(2))
    .option("--before-activity <name>", "before the first call of this activity")
    .option("--before-step <name>", "before the first run of this step")
    .option("--before-child <name>", "before the first call of this child orchestration")
    .option("--nth <number>", "with these: before the call of this number", wholeNumber(1))
    .option(
      "--replace <sequence=json>",
      "a value instead of what the call of this event returned; may be repeated",
      collectWhole,
    );
}

/** Undefined: no point was given. */
export function pointOf(options: PointOptions): CutPoint | undefined {
  const { before, beforeActivity, beforeStep, beforeChild, nth } = options;
  const which = nth === undefined ? {} : { nth };
  const points: CutPoint[] = [
    ...(before === undefined ? [] : [before]),
    ...(beforeActivity === undefined ? [] : [{ activity: beforeActivity, ...which }]),
    ...(beforeStep === undefined ? [] : [{ step: beforeStep, ...which }]),
    ...(beforeChild === undefined ? [] : [{ child: beforeChild, ...which }]),
  ];
  const [point] = points;
  if (points.length > 1) {
    throw new CliError("USAGE", "Pass one of the options that begin with --before.");
  }
  if (nth !== undefined && typeof point !== "object") {
    const needs = "--before-activity, --before-step or --before-child";
    throw new CliError("USAGE", `--nth has a meaning only with ${needs}.`);
  }
  return point;
}

/** Undefined: the option was not given. */
export function replacementsOf({ replace }: PointOptions): readonly Replacement[] | undefined {
  return replace?.map((text) => {
    const [, sequence = "", json = ""] = /^(\d+)=(.*)$/s.exec(text) ?? [];
    try {
      if (sequence === "") throw new Error("the number of the event is missing");
      return { sequence: Number(sequence), output: givenValue(JSON.parse(json)) };
    } catch (cause) {
      const message = `--replace must be sequence=json: ${errorMessage(cause)}.`;
      throw new CliError("USAGE", message, { cause });
    }
  });
}
