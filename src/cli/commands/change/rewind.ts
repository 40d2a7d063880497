// perdure rewind: goes on at a point in the past of ended or blocked instances, as their next execution.

import { rewinder } from "../../../client/bulk/rewind-many.ts";
import type { ListFilter } from "../../../client/list-filter.ts";
import type { RewindOptions } from "../../../client/repair/rewind.ts";
import { Store } from "../../../client/store.ts";
import { defined } from "../../../core/values/defined.ts";
import {
  addBulkOptions,
  runBulk,
  toEach,
  type BulkAction,
  type BulkOptions,
} from "../../options/bulk.ts";
import { STATUSES } from "../../options/filter-options.ts";
import {
  addPointOptions,
  pointOf,
  replacementsOf,
  type PointOptions,
} from "../../options/point-options.ts";
import { rewindPreview } from "../../options/rewind-preview.ts";
import { addWhyOptions, type WhyOptions } from "../../options/why.ts";
import { defineCommand, type Program } from "../../define-command.ts";
import type { Session } from "../../store/session.ts";
import { CliError } from "../../exit-codes.ts";

interface RewindCommandOptions extends BulkOptions, WhyOptions, PointOptions {
  readonly toFailure?: true;
  readonly tree?: true;
}

export function addRewind(program: Program): void {
  const command = defineCommand<RewindCommandOptions>(
    program,
    {
      usage: "rewind [ids...]",
      summary: "go on at the failed call, or before a call or an event",
      description:
        "Goes on at a point in the past of ended or blocked instances, as their next execution. Work before that point " +
        "is kept. Work that is done again has the same idempotency keys. Without a point: the failure. A filter " +
        "without --status selects failed instances. A running worker that has the code checks the past first; if the " +
        'code does not fit, nothing changes. "perdure history" shows the event numbers.',
      examples: [
        ["perdure rewind order-7", "go on at the failed call"],
        ["perdure rewind order-7 --before-activity charge --nth 2 --dry-run", "show the preview"],
        ["perdure rewind order-7 --before 12 --tree", "with the parent that knows of the failure"],
        [
          `perdure rewind order-7 --replace '8={"ok":true}' --by ada`,
          "go on with a value of yours",
        ],
        ["perdure rewind --name fulfil --created-after 1d", "all failed ones; asks first"],
      ],
    },
    (call) => {
      const { options, args } = call;
      const rewind = optionsOf(options, args);
      return runBulk(call, {
        verb: "rewind",
        past: "rewound",
        isFinal: false,
        takes: [rewindable(options)],
        preview: (session, selection) =>
          rewindPreview(session, selection, rewind, () => Promise.resolve(true)),
        ...rewinds(rewind),
      });
    },
  ).option("--to-failure", "go on at the failed call; the default");
  addPointOptions(command).option(
    "--tree",
    "also the ancestors that received its end, and the children that failed or were cancelled with them",
  );
  addBulkOptions(addWhyOptions(command));
}

/** Rewinds a page. Only a call for one instance can have values. */
export function rewinds(
  options: RewindOptions,
): Readonly<Record<"act" | "check", BulkAction["act"]>> {
  let all: ReturnType<typeof rewinder> | undefined; // one for all pages: it knows what it has rewound
  const of = ({ client }: Session) =>
    (all ??= rewinder(new Store(client.provider, client.codec), options));
  const { replace } = options;
  return {
    act:
      replace === undefined
        ? (session, ids) => of(session).apply(ids)
        : toEach(({ client }, id) => client.get(id).rewind(options)),
    check: (session, ids) => of(session).check(ids),
  };
}

function optionsOf(options: RewindCommandOptions, ids: readonly string[]): RewindOptions {
  const before = pointOf(options);
  const replace = replacementsOf(options);
  if (before !== undefined && options.toFailure === true) {
    throw new CliError(
      "USAGE",
      "Pass --to-failure or an option that begins with --before, not both.",
    );
  }
  if (replace !== undefined && ids.length !== 1) {
    throw new CliError("USAGE", "--replace has a meaning only for one instance: pass its id.");
  }
  const { reason = "rewound from the command line", by, tree } = options;
  const point = before === undefined ? ({ to: "failure" } as const) : { before };
  return { ...point, reason, ...defined({ by, tree, replace }) };
}

/** As for `client.rewindMany`. */
function rewindable({ status, blocked }: RewindCommandOptions): ListFilter {
  if (blocked === true) return { blocked };
  return { status: status === undefined ? ["failed"] : STATUSES.ended };
}
