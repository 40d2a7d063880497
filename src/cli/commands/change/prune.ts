// perdure prune: removes old executions of instances. The newest execution always stays.

import { defined } from "../../../core/values/defined.ts";
import { addBulkOptions, runBulk, toEach, type BulkOptions } from "../../options/bulk.ts";
import { defineCommand, type Program } from "../../define-command.ts";
import { wholeNumber } from "../../options/numbers.ts";
import { RemovedSums } from "../../text/removed-sums.ts";
import { parsePast } from "../../text/times.ts";

interface PruneCommandOptions extends BulkOptions {
  readonly keepLast?: number;
  readonly olderThan?: string;
}

export function addPrune(program: Program): void {
  const command = defineCommand<PruneCommandOptions>(
    program,
    {
      usage: "prune [ids...]",
      summary: "remove old executions; the newest always stays",
      examples: [
        ["perdure prune actor-1", "remove all executions but the newest; asks first"],
        ["perdure prune --name actor --keep-last 5 --yes", "keep the five newest of each instance"],
        ["perdure prune --all --older-than 7d --dry-run", "show which instances would be pruned"],
      ],
    },
    (call) => {
      const { keepLast, olderThan } = call.options;
      const sums = new RemovedSums();
      const which = {
        ...defined({ keepLast }),
        ...(olderThan === undefined
          ? {}
          : { completedBefore: parsePast("--older-than", olderThan) }),
      };
      return runBulk(call, {
        verb: "prune",
        past: "pruned",
        isFinal: true,
        takes: [{}],
        act: toEach(async ({ client }, id) => sums.add(await client.prune(id, which))),
        sums: () => sums.all,
      });
    },
  )
    .option("--keep-last <number>", "how many of the newest executions to keep", wholeNumber(1))
    .option("--older-than <time>", "only executions that ended before this: 7d, or a date");
  addBulkOptions(command);
}
