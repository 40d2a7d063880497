// A chat on a session: messages in a mailbox, a status for observers, and a new execution per message.

import { expect, test } from "vitest";
import { activity, event, orchestration } from "../../../src/index.ts";
import { open, state } from "./support.ts";

interface Line {
  readonly number: number;
  readonly text: string;
}
const inbox = event<Line>("inbox");

const answer = activity("answer", async (text: string, { info }) => ({
  text: `You said: ${text}`,
  worker: info.worker,
  session: info.session,
}));
const chat = orchestration("chat", async (ctx): Promise<string> => {
  const line = await ctx.waitFor(inbox);
  const reply = await ctx.run(answer, line.text, { session: ctx.info.instanceId });
  ctx.setStatus({ state: "replied", ...reply, number: line.number });
  if (line.text.startsWith("bye")) return `${line.number} messages`;
  return ctx.continueAsNew(undefined);
});

test("a chat answers each message in its status, on one session, until the last message", async () => {
  const { client } = await open([chat, answer]);
  const handle = await client.start(chat, undefined, { id: "chat-1" });
  const workers = new Set<unknown>();
  for (const [index, text] of ["hello", "how are you?"].entries()) {
    const number = index + 1;
    await handle.raise(inbox, { number, text });
    const { customStatus } = await state(
      handle,
      (info) => (info.customStatus as { number?: number } | undefined)?.number === number,
    );
    expect(customStatus).toMatchObject({ text: `You said: ${text}`, session: "chat-1" });
    workers.add((customStatus as { worker: string }).worker);
  }
  await handle.raise(inbox, { number: 3, text: "bye" });
  expect(await handle.result()).toBe("3 messages");
  expect(await handle.describe()).toMatchObject({
    execution: 3,
    customStatus: { text: "You said: bye", number: 3 },
    customStatusVersion: 3,
  });
  expect(workers.size).toBe(1);
});

test("messages sent early wait across executions and are read in order", async () => {
  const { client } = await open([chat, answer]);
  const lines = ["one", "two", "bye"].map((text, index) => ({ number: index + 1, text }));
  const handle = await client.start(chat, undefined, {
    events: lines.map((data) => ({ name: inbox.name, data })),
  });
  expect(await handle.result()).toBe("3 messages");
  const asked: string[] = [];
  for (const { execution } of await handle.executions()) {
    for (const entry of await handle.history({ execution })) {
      if (entry.kind === "ActivityScheduled") asked.push(entry.input);
    }
  }
  expect(asked).toEqual(['"one"', '"two"', '"bye"']);
});
