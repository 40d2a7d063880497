// Interactive mode: each line is a message, and the agent's words appear as they arrive.

import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline";
import type { Handle } from "../../src/index.ts";
import { decision, inbox, replyKey, type AgentResult, type AgentStatus } from "./protocol.ts";

const HELP = `  /yes, /no      on what the agent asks
  /budget 500    more tokens
  /bye           end the conversation
  /quit          leave; the conversation stays, and goes on when you come back`;

export async function chat(handle: Handle<AgentResult>): Promise<void> {
  const screen = new Screen();
  const left = new AbortController();
  let asked: string | null = null;
  let printing = Promise.resolve();

  /** Returns true to keep reading. */
  async function take(line: string): Promise<boolean> {
    const [command, value] = line.split(" ");
    if (command === "/quit") return false;
    if (command === "/bye") {
      await handle.raise(inbox, { kind: "bye" });
      return false;
    }
    if (command === "/help") screen.line(HELP);
    else if (command === "/budget") {
      await handle.raise(inbox, { kind: "budget", tokens: Math.max(0, Number(value) || 0) });
    } else if (command === "/yes" || command === "/no") {
      if (asked === null) screen.line("  (nothing is asked)");
      else
        await handle.raise(decision, { request: asked, allow: command === "/yes", by: "the user" });
    } else if (line.trim() !== "") await say(line.trim());
    return true;
  }

  async function say(text: string): Promise<void> {
    const id = randomUUID();
    await handle.raise(inbox, { kind: "say", id, text }, { requestId: id });
    printing = printing.then(async () => {
      screen.line(`agent: ${await handle.kv.waitFor<string>(replyKey(id))}`);
    });
  }

  async function follow(): Promise<void> {
    for await (const info of handle.watch()) {
      if (left.signal.aborted) return;
      const status = info.customStatus as AgentStatus | undefined; // only agent.ts sets it
      const waiting = status?.state === "waiting for approval" ? status : null;
      if (waiting !== null && waiting.request !== asked) {
        screen.line(`agent: may I ${Object.values(waiting.call).join(" ")}? /yes or /no`);
      }
      asked = waiting?.request ?? null;
      const word = info.waitingFor.find(
        (wait) => wait.kind === "activity" && wait.name === "think",
      );
      if (word?.kind !== "activity") continue;
      const { text = "…" } = (word.progress ?? {}) as { text?: string }; // only thinking.ts reports it
      screen.sketch(`agent: ${text}`);
    }
  }

  screen.line(`You talk to ${handle.id}. /help says what else you can type.`);
  follow().catch((error: unknown) => {
    if (!left.signal.aborted) throw error; // otherwise the chat has ended and the store was closed
  });
  const reader = createInterface({ input: process.stdin });
  for await (const line of reader) if (!(await take(line))) break;
  reader.close();
  await printing;
  left.abort();
}

class Screen {
  readonly #isTerminal = process.stdout.isTTY;

  line(text: string): void {
    process.stdout.write(this.#isTerminal ? `\r\u001B[K${text}\n` : `${text}\n`);
  }
  /** Prints a line that the next line replaces. */
  sketch(text: string): void {
    if (this.#isTerminal) process.stdout.write(`\r\u001B[K${text.slice(-process.stdout.columns)}`);
  }
}
