// One message of a chat: an instance that writes the question and its answer to a stream.

import { activity, orchestration } from "../../src/index.ts";
import { stream } from "../../src/stream/index.ts";
import { model } from "./model.ts";

/** What a page shows: the question whole, then the answer token by token. */
export const tokens = stream<{ readonly role: "user" | "assistant"; readonly text: string }>(
  "tokens",
);

/** The question arrives as the input of the instance. */
export function defineChat({ seconds }: { readonly seconds: number }) {
  const think = activity("think", async (question: string, { stream, signal }) => {
    await using out = stream(tokens);
    for await (const text of model(question, { seconds, signal })) {
      await out.write({ role: "assistant", text });
    }
  });

  const message = orchestration("message", async (ctx, question: string) => {
    ctx.stream(tokens).write({ role: "user", text: question });
    await ctx.run(think, question, { attempts: 3 });
    ctx.stream(tokens).close();
  });

  return { message, register: [message, think] };
}
