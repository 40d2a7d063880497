// The writing process of W14-across, with its parent's side: a worker whose activities write tokens at a fixed rate.
//   It exits when its parent disconnects or is gone.

import { fork, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import { activity, orchestration } from "../../src/index.ts";
import type { Setting } from "../subject.ts";
import { writeTokens } from "../tokens.ts";
import { withPerdure } from "./open.ts";
import { tokens } from "./token-streams.ts";

/** The parent needs only the name of the orchestration. */
export const CHAT = "chat";
export interface ChatInput {
  /** See `writeTokens`. */
  readonly phase: number;
  readonly tokens: number;
}

export interface Writer {
  readonly process: ChildProcess;
  readonly ready: Promise<void>;
  /** Rejects if the writer ends before the parent disconnects. */
  readonly ended: Promise<never>;
}

export function startWriter(setting: Setting): Writer {
  const child = fork(fileURLToPath(import.meta.url), [JSON.stringify(setting)]);
  const ready = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<never>();
  child.once("message", () => ready.resolve());
  child.once("exit", () => ended.reject(new Error("The writer ended early.")));
  ended.promise.catch(() => {}); // the parent waits for it only while it reads
  return { process: child, ready: ready.promise, ended: ended.promise };
}

/** Runs in the writing process. */
async function work(setting: Setting): Promise<void> {
  const think = activity("think", async (input: ChatInput, { stream }) => {
    await using out = stream(tokens);
    const isNext = (index: number): boolean => index < input.tokens;
    return await writeTokens(input.phase, isNext, (token) => out.write(token));
  });
  const chat = orchestration(CHAT, async (ctx, input: ChatInput) => {
    const written = await ctx.run(think, input);
    ctx.stream(tokens).close();
    return written;
  });
  await withPerdure(setting, { register: [chat, think] }, async () => {
    const letGo = new Promise<void>((resolve) => process.once("disconnect", resolve));
    process.send?.("ready");
    await letGo;
  });
}

if (import.meta.main) await work(JSON.parse(process.argv[2] ?? "") as Setting); // from `startWriter`
