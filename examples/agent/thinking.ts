// Thinking: the activities that call the model, on a session, with the conversation in the worker's memory.
//   - A worker remembers a conversation between calls, so that only new messages are sent to it.
//   - That memory may be lost (a crash, a move to another worker): then the answer is "forgotten", and the agent sends
//        everything again. Only the size of the calls depends on this memory.

import { setTimeout as pause } from "node:timers/promises";
import { activity, type ActivityContext } from "../../src/index.ts";
import { nextThought, summaryOf } from "./model.ts";
import type { Message, Thought } from "./protocol.ts";

/** The messages from position `from` on; 0 means the whole conversation, including the earlier summary. */
export interface Excerpt {
  readonly from: number;
  readonly messages: readonly Message[];
  readonly summary: string;
}
interface Remembered {
  readonly summary: string;
  readonly messages: readonly Message[];
}

/** The limit of remembered conversations; the least recently used one is forgotten, and can be sent again. */
const CONVERSATIONS_MAX = 100;

export function defineThinking(options: {
  /** The time per word. */
  readonly paceMs: number;
  readonly entered: (ctx: ActivityContext) => void;
}) {
  const conversations = new Map<string, Remembered>();

  function remember(conversation: string, excerpt: Excerpt): Remembered | null {
    const known = conversations.get(conversation);
    if (excerpt.from > 0 && (known === undefined || known.messages.length < excerpt.from))
      return null;
    const before = excerpt.from === 0 ? [] : (known?.messages.slice(0, excerpt.from) ?? []);
    const heard = { summary: excerpt.summary, messages: [...before, ...excerpt.messages] };
    conversations.delete(conversation);
    conversations.set(conversation, heard);
    const [oldest] = conversations.keys();
    if (conversations.size > CONVERSATIONS_MAX && oldest !== undefined)
      conversations.delete(oldest);
    return heard;
  }

  const think = activity("think", async (excerpt: Excerpt, ctx): Promise<Thought> => {
    options.entered(ctx);
    const heard = remember(ctx.info.session ?? "", excerpt);
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

  /** Runs once per execution, with the whole conversation; the worker may forget it afterwards. */
  const summarise = activity("summarise", async ({ summary, messages }: Excerpt, ctx) => {
    options.entered(ctx);
    conversations.delete(ctx.info.session ?? "");
    await pause(options.paceMs * 5, undefined, { signal: ctx.signal });
    return summaryOf(summary, messages);
  });

  return { think, summarise };
}
