// perdure restart: runs ended instances again with the same input, as their next execution.

import { addBulkOptions, runBulk, type BulkOptions } from "../bulk.ts";
import { defineCommand, type Program } from "../define-command.ts";
import { STATUSES } from "../filter-options.ts";

export function addRestart(program: Program): void {
  const command = defineCommand<BulkOptions>(
    program,
    {
      usage: "restart [ids...]",
      summary: "run ended instances again, from the beginning",
      description:
        "Runs ended instances again with the same input, as their next execution, with empty mailbox, key-values " +
        "and status. Earlier executions stay readable.",
      examples: [
        ["perdure restart order-7", "one instance, however it ended"],
        ["perdure restart --status failed --name fulfil", "all that failed, after a question"],
      ],
    },
    (call) =>
      runBulk(call, {
        verb: "restart",
        past: "restarted",
        isFinal: false,
        takes: [{ status: STATUSES.ended }],
        act: ({ client }, id) => client.get(id).restart(),
      }),
  );
  addBulkOptions(command);
}
