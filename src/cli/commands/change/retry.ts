// perdure retry: makes a stuck instance continue.
//   - It unblocks a blocked instance, and the instance's code continues where it stopped.
//   - It rewinds a failed instance to the failure: the failed call is done again, with the same idempotency key.
//   - It refuses every other instance.

import { notFound } from "../../../client/store.ts";
import { defined } from "../../../core/values/defined.ts";
import {
  addBulkOptions,
  runBulk,
  toEach,
  type BulkAction,
  type BulkOptions,
  type Refused,
} from "../../options/bulk.ts";
import { rewindPreview } from "../../options/rewind-preview.ts";
import { addWhyOptions, type WhyOptions } from "../../options/why.ts";
import { defineCommand, type Program } from "../../define-command.ts";
import type { Session } from "../../store/session.ts";
import { rewinds } from "./rewind.ts";

export function addRetry(program: Program): void {
  const command = defineCommand<BulkOptions & WhyOptions>(
    program,
    {
      usage: "retry [ids...]",
      summary: "go on at the failed call; unblock blocked instances",
      description:
        "Goes on at the failed call of a failed instance, as its next execution: completed work is kept, and the " +
        "failed call is done again with the same idempotency key. Unblocks a blocked instance: its code continues " +
        "where it stopped. Shows what is kept and what is done again, and asks if something happened after the " +
        'failure, such as compensations. Refuses other instances: use "perdure rewind" for another point, and ' +
        '"perdure restart" to run an instance again from the start.',
      examples: [
        ["perdure retry order-7", "go on at the failed call"],
        ["perdure retry order-7 --dry-run", "show what is kept and what is done again"],
        ["perdure retry --status failed --name fulfil --yes", "all failed ones, without asking"],
        [
          "perdure retry --name fulfil --created-after 1d",
          "what was created since yesterday; asks first",
        ],
      ],
    },
    (call) => {
      const { reason = "retried from the command line", by } = call.options;
      const options = { to: "failure", reason, ...defined({ by }) } as const;
      const rewind = rewinds(options);
      return runBulk(call, {
        verb: "retry",
        past: "retried",
        isFinal: false,
        takes: [{ blocked: true }, { status: ["failed"] }],
        preview: (session, selection) =>
          rewindPreview(session, selection, options, async (id) => {
            const { blocked, status } = await session.client.get(id).describe();
            return blocked === undefined && status === "failed";
          }),
        act: (session, ids) => retry(session, ids, { rewind: rewind.act, unblock }),
        check: (session, ids) =>
          retry(session, ids, { rewind: rewind.check, unblock: () => Promise.resolve([]) }),
      });
    },
  );
  addBulkOptions(addWhyOptions(command));
}

const unblock = toEach(({ client }, id) => client.get(id).unblock());

async function retry(
  session: Session,
  ids: readonly string[],
  { rewind, unblock }: Readonly<Record<"rewind" | "unblock", BulkAction["act"]>>,
): Promise<readonly Refused[]> {
  const { items } = await session.client.list({ ids }, { limit: ids.length });
  const found = new Map(items.map((item) => [item.id, item]));
  const refused: Refused[] = [];
  const blocked: string[] = [];
  const failed: string[] = [];
  for (const id of ids) {
    const info = found.get(id);
    if (info === undefined) {
      const { code, message } = notFound(id);
      refused.push({ id, code, message });
    } else if (info.blocked !== undefined) blocked.push(id);
    else if (info.status === "failed") failed.push(id);
    else refused.push({ id, code: "NOT_RETRYABLE", message: notRetryable(id, info.status) });
  }
  refused.push(...(await unblock(session, blocked)));
  if (failed.length > 0) refused.push(...(await rewind(session, failed)));
  return refused;
}

function notRetryable(id: string, status: string): string {
  const isStopped = status === "cancelled" || status === "terminated";
  const hint = isStopped ? ` Use: perdure rewind ${id}, or perdure restart ${id}` : "";
  return `The instance is ${status} and not blocked: there is nothing to retry.${hint}`;
}
