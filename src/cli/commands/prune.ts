// perdure prune: removes old executions of instances; never the newest.

import { addBulkOptions, runBulk, type BulkOptions } from "../bulk.ts";
import { defineCommand, type Program } from "../define-command.ts";
import { wholeNumber } from "../numbers.ts";
import { RemovedSums } from "../removed-sums.ts";
import { parsePast } from "../times.ts";

interface PruneCommandOptions extends BulkOptions {
  readonly keepLast?: number;
  readonly olderThan?: string;
}

export function addPrune(program: Program): void {
  const command = defineCommand<PruneCommandOptions>(
    program,
    {
      usage: "prune [ids...]",
      summary: "remove old executions; never the newest",
      examples: [
        ["perdure prune actor-1", "all executions but the newest, after a question"],
        ["perdure prune --name actor --keep-last 5 --yes", "all but the five newest, of each"],
        ["perdure prune --all --older-than 7d --dry-run", "whose old executions would go"],
      ],
    },
    (call) => {
      const { keepLast, olderThan } = call.options;
      const sums = new RemovedSums();
      const which = {
        ...(keepLast === undefined ? {} : { keepLast }),
        ...(olderThan === undefined
          ? {}
          : { completedBefore: parsePast("--older-than", olderThan) }),
      };
      return runBulk(call, {
        verb: "prune",
        past: "pruned",
        isFinal: true,
        takes: [{}],
        act: async ({ client }, id) => sums.add(await client.prune(id, which)),
        sums: () => sums.all,
      });
    },
  )
    .option("--keep-last <number>", "how many of the newest executions stay", wholeNumber(1))
    .option("--older-than <time>", "only executions that ended before this: 7d, or a date");
  addBulkOptions(command);
}
