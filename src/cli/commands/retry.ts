// perdure retry: whatever makes a stuck instance go on.
//   RY1. Blocked: the block is taken away, and the code tries again where it stands. Failed: it is restarted, from
//        the beginning. Anything else is refused: there is nothing to retry, or nobody asked for an end to be undone.

import { addBulkOptions, runBulk, type BulkOptions } from "../bulk.ts";
import { defineCommand, type Program } from "../define-command.ts";
import { CliError } from "../exit-codes.ts";
import type { Session } from "../session.ts";

export function addRetry(program: Program): void {
  const command = defineCommand<BulkOptions>(
    program,
    {
      usage: "retry [ids...]",
      summary: "make stuck instances go on: unblock, or restart what failed",
      description:
        "A blocked instance is unblocked: its code tries again where it stands. A failed one is restarted from the " +
        'beginning, with the same input. Others are refused; "perdure restart" takes any that ended, and ' +
        '"perdure fork" goes on from the middle of one.',
      examples: [
        ["perdure retry order-7", "one instance"],
        ["perdure retry --name fulfil --created-after 1d", "what got stuck since yesterday"],
      ],
    },
    (call) =>
      runBulk(call, {
        verb: "retry",
        past: "set going again",
        isFinal: false,
        takes: [{ blocked: true }, { status: ["failed"] }],
        act: retry,
      }),
  );
  addBulkOptions(command);
}

async function retry({ client }: Session, id: string): Promise<void> {
  const handle = client.get(id);
  const { blocked, status } = await handle.describe();
  if (blocked !== undefined) return handle.unblock();
  if (status === "failed") return handle.restart();
  const hint =
    status === "cancelled" || status === "terminated" ? "; perdure restart takes it" : "";
  const message = `It is ${status} and not blocked: there is nothing to retry${hint}.`;
  throw new CliError("NOT_RETRYABLE", message);
}
