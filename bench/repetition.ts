// One repetition, with both sides: the parent starts a new process; that process runs the order and answers.
//   - repetition.1: A process that does not answer, or does not exit after its answer, within the time limit is killed,
//       and the repetition has failed.

import { fork } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { programOf } from "./catalogue.ts";
import type { Postgres } from "./postgres.ts";
import type { Answer, Order, Reading } from "./subject.ts";

const ANSWER_MS_MAX = 600_000;
const END_MS_MAX = 10_000;
const SCHEMA = "perdure";

/** Runs the order in a new process and directory and, if there is a server, in a new database. */
export async function repeat(order: Order, server: Postgres | null): Promise<readonly Reading[]> {
  const directory = mkdtempSync(join(order.setting.directory, "perdure-bench-"));
  const fresh = await server?.freshDatabase();
  try {
    const database = fresh === undefined ? null : { url: fresh.url, schema: SCHEMA };
    const answer = await ask({ ...order, setting: { ...order.setting, directory, database } });
    if (answer.kind === "failed") throw new Error(answer.message);
    return answer.readings;
  } finally {
    rmSync(directory, { recursive: true, force: true });
    await fresh?.drop();
  }
}

function ask(order: Order): Promise<Answer> {
  const child = fork(fileURLToPath(import.meta.url), [JSON.stringify(order)], {
    execArgv: ["--expose-gc"],
    env: { ...process.env, NODE_ENV: "production" },
  });
  const { promise, resolve } = Promise.withResolvers<Answer>();
  let answer: Answer | undefined;
  const killIn = (ms: number, message: string): NodeJS.Timeout =>
    setTimeout(() => {
      answer = { kind: "failed", message };
      child.kill("SIGKILL");
    }, ms);
  let timer = killIn(ANSWER_MS_MAX, `no answer within ${ANSWER_MS_MAX / 1_000} s`);
  child.on("message", (message: Answer) => {
    answer = message;
    clearTimeout(timer);
    timer = killIn(END_MS_MAX, "the process did not end after everything was closed");
  });
  child.on("exit", (code, signal) => {
    clearTimeout(timer);
    const end = `the process ended with ${signal ?? code} and no answer`;
    resolve(answer ?? { kind: "failed", message: end });
  });
  return promise;
}

/** Runs in the child process. */
async function answerOrder(text: string): Promise<void> {
  const order = JSON.parse(text) as Order; // from `ask`
  let answer: Answer;
  try {
    const run = await programOf(order);
    answer = { kind: "done", readings: await run(order.setting) };
  } catch (error) {
    const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
    answer = { kind: "failed", message };
  }
  process.send?.(answer, () => process.disconnect());
}

const [, script, text] = process.argv;
if (script === fileURLToPath(import.meta.url) && text !== undefined) await answerOrder(text);
