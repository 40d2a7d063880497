// perdure restart: runs ended instances again with the same input, as their next execution.

import { addBulkOptions, runBulk, type BulkOptions } from "../bulk.ts";
import { defineCommand, type Program } from "../define-command.ts";
import { STATUSES } from "../filter-options.ts";
import { runAgainWarning } from "../run-again.ts";

export function addRestart(program: Program): void {
  const command = defineCommand<BulkOptions>(
    program,
    {
      usage: "restart [ids...]",
      summary: "run ended instances again, from the start",
      description:
        "Runs ended instances again with the same input, as their next execution, with empty mailbox, key-values " +
        "and status. Earlier executions stay readable. Activities and steps that completed are done again, under " +
        "new idempotency keys: the command names them and asks first.",
      examples: [
        ["perdure restart order-7", "one instance, however it ended, after a question"],
        ["perdure restart --status failed --name fulfil", "all that failed, after a question"],
      ],
    },
    (call) =>
      runBulk(call, {
        verb: "restart",
        past: "restarted",
        isFinal: false,
        takes: [{ status: STATUSES.ended }],
        warning: (session, selection) =>
          runAgainWarning(session, selection, ({ completedAt }) => completedAt !== undefined),
        act: ({ client }, id) => client.get(id).restart(),
      }),
  );
  addBulkOptions(command);
}
