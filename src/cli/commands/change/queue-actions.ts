// Actions of perdure queues: pause and resume a queue, and run its failed jobs again.
//   - A pause of a queue that no running worker registers and that has no tasks prints a warning, because the name may be
//        misspelled. It still succeeds: a pause may come before the worker.
//   - The failed jobs run their activity again from the first attempt, so the command asks for confirmation.

import type { QueueDetail } from "../../../client/queues/read-queues.ts";
import { defined } from "../../../core/values/defined.ts";
import { member } from "../../../server/wire/instance.ts";
import type { Call } from "../../define-command.ts";
import type { ExitCode } from "../../exit-codes.ts";
import { confirm } from "../../options/question.ts";
import { similarName } from "../../options/similar-name.ts";
import { Session } from "../../store/session.ts";
import { plural } from "../../text/plural.ts";
import { dim, green, red, yellow } from "../../text/screen.ts";

export interface QueueActionOptions {
  readonly reason?: string;
  readonly by?: string;
  readonly limit?: number;
  readonly dryRun?: true;
  readonly yes?: true;
}

const REFUSED_SHOWN = 20;

export async function pause(call: Call<QueueActionOptions>, name: string): Promise<ExitCode> {
  const { cli, options } = call;
  const { reason, by } = options;
  await using session = await Session.open(call);
  await session.client.pauseQueue(name, defined({ reason, by }));
  const warning = await unknownWarning(session, name);
  if (options.json === true) {
    cli.out.document({ action: "pause", name, ...member("warning", warning) });
  } else {
    cli.out.line(green("✓ "), `queue ${name} paused`);
    if (warning !== undefined) cli.err.line(yellow(`! ${warning}`));
  }
  return 0;
}

export async function resume(call: Call<QueueActionOptions>, name: string): Promise<ExitCode> {
  const { cli, options } = call;
  await using session = await Session.open(call);
  await session.client.resumeQueue(name);
  if (options.json === true) cli.out.document({ action: "resume", name });
  else cli.out.line(green("✓ "), `queue ${name} resumed`);
  return 0;
}

export async function retryFailed(call: Call<QueueActionOptions>, name: string): Promise<ExitCode> {
  const { cli, options } = call;
  const { dryRun = false, yes = false, json = false } = options;
  await using session = await Session.open(call);
  const { matched } = await session.client.retryFailed(name, { dryRun: true });
  const limit = Math.min(options.limit ?? matched, matched);
  const action = { action: "retry-failed", name } as const;
  const jobs = `${plural(limit, "failed job")} of queue ${name}`;
  if (dryRun) {
    if (json) cli.out.document({ ...action, dryRun, matched });
    else cli.out.line(`Would run ${jobs} again.`);
    return 0;
  }
  if (limit > 0) {
    await confirm(cli, `Run ${jobs} again, from the first attempt?`, { yes });
  }
  const result =
    limit === 0
      ? { matched, retried: 0, refused: [] }
      : await session.client.retryFailed(name, { limit });
  const { retried, refused } = result;
  if (json) cli.out.document({ ...action, ...result });
  else {
    if (retried > 0) cli.out.line(green("✓ "), `${plural(retried, "job")} of ${name} retried`);
    else if (refused.length === 0) cli.out.line("Nothing to do.");
    for (const { id, code } of refused.slice(0, REFUSED_SHOWN)) {
      cli.err.line(red("✗ "), id, ": ", code);
    }
    const more = refused.length - REFUSED_SHOWN;
    if (more > 0) cli.err.line(dim(`  … and ${more} more were refused`));
  }
  return refused.length === 0 ? 0 : 10;
}

/** Undefined: the queue has tasks or figures, or a running worker registers its activity. */
async function unknownWarning({ client }: Session, name: string): Promise<string | undefined> {
  if (isUsed(await client.queue(name))) return undefined;
  const runtimes = await client.runtimes();
  const known = runtimes.flatMap(({ registered }) => registered?.activities ?? []);
  if (known.includes(name)) return undefined;
  const queues = await client.queues();
  const similar = similarName(name, [...known, ...queues.filter(isUsed).map((one) => one.name)]);
  const hint = similar === undefined ? "" : ` Did you mean "${similar}"?`;
  return `queue ${name} is empty, and no running worker registers activity "${name}".${hint}`;
}

function isUsed(queue: Omit<QueueDetail, "topKeys">): boolean {
  const { depth, running, delayed, failures, limit } = queue;
  return depth + running + delayed + failures > 0 || limit !== null;
}
