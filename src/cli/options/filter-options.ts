// The filters of `list`, `check`, `history --export` and every command that changes instances.
//   - An instance must match all filters.
//   - A command that changes instances refuses to run without ids and without filters. `--all` selects all
//        instances.

import type { Command } from "commander";
import type { ListFilter } from "../../client/list-filter.ts";
import { defined } from "../../core/values/defined.ts";
import { parseAttributeOptions, parseWhere } from "./attribute-options.ts";
import { CliError } from "../exit-codes.ts";
import { parsePast } from "../text/times.ts";

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
  readonly where?: readonly string[];
  readonly text?: string;
  readonly blocked?: boolean;
  readonly createdAfter?: string;
  readonly createdBefore?: string;
  readonly completedAfter?: string;
  readonly completedBefore?: string;
}

export function addFilterOptions(command: Command): Command {
  const heading = "Filters (all must match):";
  command.optionsGroup(heading);
  command
    .option("--status <status>", "a status, live or ended; separate several with commas", collect)
    .option("--name <name>", "the name of the orchestration")
    .option("--of-version <version>", "the version of the orchestration")
    .option("--id-prefix <text>", "the start of the id")
    .option("--attribute <name=value>", "an attribute; may be repeated", collectWhole)
    .option(
      "--where <test>",
      "a test of an attribute, such as cents>=1000; may be repeated",
      collectWhole,
    )
    .option("--text <text>", "found in the id or the name, or exactly an attribute's value")
    .option("--blocked", "only blocked instances")
    .option("--no-blocked", "only instances that are not blocked")
    .option("--parent <id>", "children of this instance")
    .option("--roots", "only instances without a parent")
    .option("--created-after <time>", "a date and time, or an age such as 2h")
    .option("--created-before <time>", "a date and time, or an age such as 2h")
    .option("--completed-after <time>", "a date and time, or an age such as 2h")
    .option("--completed-before <time>", "a date and time, or an age such as 2h");
  command.optionsGroup("Options:");
  return command;
}

const collect = (text: string, before: readonly string[] = []): string[] => [
  ...before,
  ...text.split(",").map((part) => part.trim()),
];
/** Collects repeated values. Does not split at commas: a value may contain them. */
export const collectWhole = (text: string, before: readonly string[] = []): string[] => [
  ...before,
  text,
];

export function filterOf(options: FilterOptions): ListFilter {
  const { status, name, ofVersion, parent, roots, idPrefix, attribute, where, text, blocked } =
    options;
  if (parent !== undefined && roots === true) {
    throw new CliError("USAGE", "--parent and --roots cannot be used together.");
  }
  return {
    ...(status === undefined ? {} : { status: statusesOf(status) }),
    ...defined({ name, version: ofVersion, parent }),
    ...(roots === true ? { parent: null } : {}),
    ...defined({ idPrefix }),
    ...(attribute === undefined ? {} : { attributes: parseAttributeOptions(attribute) }),
    ...(where === undefined ? {} : { where: parseWhere(where) }),
    ...defined({ text }),
    ...(typeof blocked === "boolean" ? { blocked } : {}),
    ...timesOf(options),
  };
}

function timesOf(
  options: FilterOptions,
): Pick<ListFilter, "createdAfter" | "createdBefore" | "completedAfter" | "completedBefore"> {
  const time = (option: string, given: string | undefined): Date | undefined =>
    given === undefined ? undefined : parsePast(option, given);
  return defined({
    createdAfter: time("--created-after", options.createdAfter),
    createdBefore: time("--created-before", options.createdBefore),
    completedAfter: time("--completed-after", options.completedAfter),
    completedBefore: time("--completed-before", options.completedBefore),
  });
}

function statusesOf(words: readonly string[]): readonly Status[] {
  const statuses = words.flatMap((word): readonly Status[] => {
    const known = [...LIVE, ...ENDED].find((status) => status === word);
    const found = known === undefined ? GROUPS[word] : [known];
    if (found !== undefined) return found;
    const names = [...LIVE, ...ENDED, ...Object.keys(GROUPS)].join(", ");
    throw new CliError("USAGE", `--status must be one of ${names}; got ${JSON.stringify(word)}.`);
  });
  return [...new Set(statuses)];
}
