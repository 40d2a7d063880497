// The chat example in a real browser: reloading the page and killing its processes do not affect the answer.

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { answerTo } from "../../../examples/chat/model.ts";
import { openBrowser } from "../../interfaces/ui/support/browser.ts";
import { ChatFolder } from "./chat-page.ts";
import { promisedOutput } from "./example-runs.ts";

const QUESTION = "tell me everything about streams";
const ANSWER = answerTo(QUESTION).join("");

let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser.close());

test("a page that is reloaded five times shows 2,000 tokens once, although its worker is killed three times", async () => {
  expect(answerTo(QUESTION)).toHaveLength(2_000);
  const folder = ChatFolder.make({ seconds: 4 });
  await folder.startServer();
  let worker = folder.startWorker();
  const page = await folder.openPage(browser, ANSWER);
  const killWorker = async (): Promise<void> => {
    await worker.kill();
    worker = folder.startWorker();
  };

  await page.ask(QUESTION);
  // Every step begins in the middle of an answer. `takenBack` counts the answers that the page has discarded.
  const steps: readonly { tokens: number; takenBack: number; act: () => Promise<void> }[] = [
    { tokens: 200, takenBack: 0, act: page.reload },
    { tokens: 400, takenBack: 0, act: killWorker },
    { tokens: 200, takenBack: 1, act: page.reload },
    { tokens: 500, takenBack: 1, act: killWorker },
    { tokens: 200, takenBack: 2, act: page.reload },
    { tokens: 600, takenBack: 2, act: killWorker },
    { tokens: 200, takenBack: 3, act: page.reload },
    { tokens: 900, takenBack: 3, act: page.reload },
  ];
  for (const { act, ...progress } of steps) {
    await page.shows(progress);
    expect(await page.isGrowing()).toBe(true);
    await act();
  }
  await page.isComplete();

  expect(await page.messages()).toEqual([{ question: QUESTION, answer: ANSWER }]);
  expect(page.troubles).toEqual([]);
  // The store has one run of the call per worker, and the last one succeeded.
  const all = await folder.entries();
  const resets = all.filter(({ kind }) => kind === "reset");
  expect(resets.map((reset) => ({ ...reset, offset: 0 }))).toEqual(
    Array(3).fill({ kind: "reset", offset: 0, call: 2, from: 1 }),
  );
  expect(all.length).toBeGreaterThan(400 + 500 + 600 + 2_000);
  const settled = await folder.entries({ settled: true });
  const texts = settled.flatMap((entry) => (entry.kind === "item" ? [entry.value.text] : []));
  expect(texts.join("")).toBe(QUESTION + ANSWER);
});

test("a page whose server is killed continues without a reload after the last token that it received", async () => {
  const folder = ChatFolder.make({ seconds: 2 });
  const server = await folder.startServer();
  folder.startWorker();
  const page = await folder.openPage(browser, ANSWER);
  await page.ask(QUESTION);
  await page.shows({ tokens: 200, takenBack: 0 });
  await server.kill();
  await folder.startServer();
  await page.isComplete();
  expect(await page.messages()).toEqual([{ question: QUESTION, answer: ANSWER }]);
  expect(await page.itemsReceived()).toBe(1 + 2_000);
});

test("a question that is sent twice is answered once, and an empty or long one is refused", async () => {
  const folder = ChatFolder.make({ seconds: 0.1 });
  const server = await folder.startServer();
  folder.startWorker();
  expect(server.output.trim().replace(/:\d+\//, ":3000/")).toBe(promisedOutput("chat"));

  const chat = `${folder.url}/chats/${crypto.randomUUID()}/messages`;
  const put = async (id: string, body: string): Promise<number> =>
    (await fetch(`${chat}/${id}`, { method: "PUT", body })).status;
  const id = crypto.randomUUID();
  expect([await put(id, QUESTION), await put(id, QUESTION)]).toEqual([202, 202]);
  expect(await put(crypto.randomUUID(), "  ")).toBe(400);
  expect(await put(crypto.randomUUID(), "x".repeat(20_000))).toBe(413);
  expect(await put("not-a-uuid", QUESTION)).toBe(404);
  expect(await (await fetch(chat)).json()).toEqual([id]);
});

test("a page can read the stream of a message, and nothing else of the store", async () => {
  const folder = ChatFolder.make({ seconds: 0.1 });
  await folder.startServer();
  folder.startWorker();
  const id = crypto.randomUUID();
  const chat = crypto.randomUUID();
  const url = `${folder.url}/chats/${chat}/messages/${id}`;
  await fetch(url, { method: "PUT", body: QUESTION });
  const api = `${folder.url}/perdure/api/v1/instances`;
  const stream = await fetch(`${api}/${id}/streams/tokens`);
  expect(stream.headers.get("content-type")).toContain("text/event-stream");
  expect((await stream.text()).match(/^event: item$/gm)).toHaveLength(1 + 2_000);
  for (const path of ["", `/${id}`, `/${id}/history`, `/${id}/streams`, `/${id}/streams/other`]) {
    expect([path, (await fetch(`${api}${path}`)).status]).toEqual([path, 401]);
  }
  expect((await fetch(`${api}/${id}/streams/tokens`, { method: "DELETE" })).ok).toBe(false);
  expect((await fetch(`${api}/${crypto.randomUUID()}/streams/tokens`)).status).toBe(404);
});
