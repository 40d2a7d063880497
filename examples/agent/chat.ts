// Interactive mode: each line is a message, and the agent's words appear as they arrive.

import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline";
import type { Handle } from "../../src/index.ts";
import {
  activityOfAgent,
  addBudget,
  bye,
  decide,
  recap,
  say,
  type AgentResult,
} from "./protocol.ts";

const HELP = `  /yes, /no      on what the agent asks
  /budget 500    more tokens
  /recap         what was said, also while the agent thinks
  /bye           end the conversation
  /quit          leave; the conversation stays, and goes on when you come back`;

/** The agent may have many messages to answer first. */
const PATIENCE = { timeout: "1d" } as const;

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
      print(handle.ask(bye, undefined, PATIENCE).then(({ answered }) => `(${answered} answers)`));
      return false;
    }
    if (command === "/help") screen.line(HELP);
    else if (command === "/budget") {
      const budget = handle.ask(addBudget, Math.max(0, Number(value) || 0), PATIENCE);
      print(budget.then((tokens) => `(the budget is ${tokens} tokens)`));
    } else if (command === "/recap") {
      screen.line(["(so far)", ...(await handle.ask(recap))].join("\n  "));
    } else if (command === "/yes" || command === "/no") {
      if (asked === null) screen.line("  (nothing is asked)");
      else {
        const decided = { question: asked, allow: command === "/yes", by: "the user" };
        await handle
          .ask(decide, decided)
          .catch((error: Error) => screen.line(`(${error.message})`));
      }
    } else if (line.trim() !== "") {
      const reply = handle.ask(say, line.trim(), { ...PATIENCE, requestId: randomUUID() });
      print(reply.then((text) => `agent: ${text}`));
    }
    return true;
  }

  /** Prints the answer when it is there, after the answers to earlier lines. */
  function print(answer: Promise<string>): void {
    const text = answer.catch((error: Error) => `(${error.message})`);
    printing = printing.then(async () => screen.line(await text));
  }

  async function follow(): Promise<void> {
    for await (const info of handle.watch()) {
      if (left.signal.aborted) return;
      const status = await handle.read(activityOfAgent);
      const waiting = status?.state === "waiting for approval" ? status : null;
      if (waiting !== null && waiting.question !== asked) {
        screen.line(`agent: may I ${Object.values(waiting.call).join(" ")}? /yes or /no`);
      }
      asked = waiting?.question ?? null;
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
