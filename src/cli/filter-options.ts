// The filters of `list`, which every command that takes several instances has too.
//   FI1. They are ANDed. Without any of them, and without ids, a command that changes something takes nothing:
//        all instances are asked for by `--all`.

import type { Command } from "commander";
import type { ListFilter } from "../client/list-filter.ts";
import { CliError } from "./exit-codes.ts";
import { parsePast } from "./times.ts";

type Status = Extract<NonNullable<ListFilter["status"]>, string>;

const LIVE: readonly Status[] = ["pending", "running", "paused"];
const ENDED: readonly Status[] = ["completed", "failed", "cancelled", "terminated"];
const GROUPS: Readonly<Record<string, readonly Status[]>> = { live: LIVE, ended: ENDED };
export const STATUSES = { live: LIVE, ended: ENDED } as const;

export interface FilterOptions {
  readonly status?: readonly string[];
  readonly name?: string;
  readonly ofVersion?: string;
  readonly parent?: string;
  readonly roots?: true;
  readonly idPrefix?: string;
  readonly attribute?: readonly string[];
  readonly blocked?: boolean;
  readonly createdAfter?: string;
  readonly createdBefore?: string;
  readonly completedBefore?: string;
}

export function addFilterOptions(command: Command): Command {
  const heading = "Filters (all must hold):";
  command.optionsGroup(heading);
  command
    .option("--status <status>", "a status, live or ended; several with commas", collect)
    .option("--name <name>", "of this orchestration")
    .option("--of-version <version>", "of this version of it")
    .option("--id-prefix <text>", "whose id begins so")
    .option("--attribute <name=value>", "with this attribute; may be repeated", collectWhole)
    .option("--blocked", "that are blocked")
    .option("--no-blocked", "that are not blocked")
    .option("--parent <id>", "children of this instance")
    .option("--roots", "without a parent")
    .option("--created-after <time>", "a date and time, or how long ago: 2h")
    .option("--created-before <time>", "the same")
    .option("--completed-before <time>", "the same");
  command.optionsGroup("Options:");
  return command;
}

const collect = (text: string, before: readonly string[] = []): string[] => [
  ...before,
  ...text.split(",").map((part) => part.trim()),
];
/** A text that may hold commas itself. */
export const collectWhole = (text: string, before: readonly string[] = []): string[] => [
  ...before,
  text,
];

export function filterOf(options: FilterOptions): ListFilter {
  const { status, name, ofVersion, parent, roots, idPrefix, attribute, blocked } = options;
  if (parent !== undefined && roots === true) {
    throw new CliError("USAGE", "--parent and --roots contradict each other.");
  }
  return {
    ...(status === undefined ? {} : { status: statusesOf(status) }),
    ...(name === undefined ? {} : { name }),
    ...(ofVersion === undefined ? {} : { version: ofVersion }),
    ...(parent === undefined ? {} : { parent }),
    ...(roots === true ? { parent: null } : {}),
    ...(idPrefix === undefined ? {} : { idPrefix }),
    ...(attribute === undefined ? {} : { attributes: parsePairs("--attribute", attribute) }),
    ...(typeof blocked === "boolean" ? { blocked } : {}),
    ...timesOf(options),
  };
}

function timesOf(
  options: FilterOptions,
): Pick<ListFilter, "createdAfter" | "createdBefore" | "completedBefore"> {
  const { createdAfter: after, createdBefore: before, completedBefore: ended } = options;
  return {
    ...(after === undefined ? {} : { createdAfter: parsePast("--created-after", after) }),
    ...(before === undefined ? {} : { createdBefore: parsePast("--created-before", before) }),
    ...(ended === undefined ? {} : { completedBefore: parsePast("--completed-before", ended) }),
  };
}

function statusesOf(words: readonly string[]): readonly Status[] {
  const statuses = words.flatMap((word): readonly Status[] => {
    const known = [...LIVE, ...ENDED].find((status) => status === word);
    const found = known === undefined ? GROUPS[word] : [known];
    if (found !== undefined) return found;
    const names = [...LIVE, ...ENDED, ...Object.keys(GROUPS)].join(", ");
    throw new CliError("USAGE", `--status ${JSON.stringify(word)} is none of ${names}.`);
  });
  return [...new Set(statuses)];
}

/** `name=value`, as often as they come. */
export function parsePairs(option: string, pairs: readonly string[]): Record<string, string> {
  const entries = pairs.map((pair): [string, string] => {
    const at = pair.indexOf("=");
    if (at > 0) return [pair.slice(0, at), pair.slice(at + 1)];
    throw new CliError("USAGE", `${option} is name=value, not ${JSON.stringify(pair)}.`);
  });
  return Object.fromEntries(entries);
}
