// Thinking: the activities that call the model, on a session, with the conversation in the worker's memory.
//   TH1. A worker remembers a conversation between calls, so that only what is new is sent to it.
//   TH2. That memory may be gone (a crash, a move to another worker): then the answer is "forgotten", and the agent
//        tells everything again. Nothing depends on it but the size of the calls.

import { setTimeout as pause } from "node:timers/promises";
import { activity, type ActivityContext } from "../../src/index.ts";
import { nextThought, summaryOf } from "./model.ts";
import type { Message, Thought } from "./protocol.ts";

/** The messages from place `from` on; 0 is the whole conversation, with what was before it. */
export interface Told {
  readonly from: number;
  readonly messages: readonly Message[];
  readonly summary: string;
}
interface Remembered {
  readonly summary: string;
  readonly messages: readonly Message[];
}

/** Beyond this many the one that was heard of least lately is forgotten; it can be told again. */
const CONVERSATIONS_MAX = 100;

export function defineThinking(options: {
  /** The time a word takes. */
  readonly paceMs: number;
  readonly entered: (ctx: ActivityContext) => void;
}) {
  const conversations = new Map<string, Remembered>();

  function hear(conversation: string, told: Told): Remembered | null {
    const known = conversations.get(conversation);
    if (told.from > 0 && (known === undefined || known.messages.length < told.from)) return null;
    const before = told.from === 0 ? [] : (known?.messages.slice(0, told.from) ?? []);
    const heard = { summary: told.summary, messages: [...before, ...told.messages] };
    conversations.delete(conversation);
    conversations.set(conversation, heard);
    const [oldest] = conversations.keys();
    if (conversations.size > CONVERSATIONS_MAX && oldest !== undefined)
      conversations.delete(oldest);
    return heard;
  }

  const think = activity("think", async (told: Told, ctx): Promise<Thought> => {
    options.entered(ctx);
    const heard = hear(ctx.info.session ?? "", told);
    if (heard === null) return { kind: "forgotten" };
    const thought = nextThought(heard.summary, heard.messages);
    const text = thought.kind === "answer" ? thought.text : "…";
    const words = text.split(" ");
    for (let count = 1; count <= words.length; count++) {
      ctx.progress({ text: words.slice(0, count).join(" ") }); // as a model streams its tokens
      await pause(options.paceMs, undefined, { signal: ctx.signal });
    }
    return thought;
  });

  /** Once an execution: it is told the whole, and the worker may forget it. */
  const summarise = activity("summarise", async ({ summary, messages }: Told, ctx) => {
    options.entered(ctx);
    conversations.delete(ctx.info.session ?? "");
    await pause(options.paceMs * 5, undefined, { signal: ctx.signal });
    return summaryOf(summary, messages);
  });

  return { think, summarise };
}
