// The agent of docs/agents.md: tools, approval, streamed tokens, a budget, and a provider that is down for an hour.

import { expect, onTestFinished, test, vi } from "vitest";
import {
  agent,
  decision,
  remove,
  search,
  think,
  tokens,
  type Thought,
} from "../../../examples/agent/minimal.ts";
import { TestEnvironment } from "../../../src/testing/index.ts";

const ANSWER: Thought = { kind: "answer", text: "done", cost: 10 };
const SEARCH: Thought = { kind: "tool", tool: "search", text: "tea", cost: 10 };
const REMOVE: Thought = { kind: "tool", tool: "remove", text: "/tmp/a", cost: 10 };

/** A model that has these thoughts, one per request, and the bodies of the requests. */
function model(thoughts: readonly Thought[], isDown: () => boolean = () => false) {
  const requests: string[] = [];
  let next = 0;
  vi.stubGlobal("fetch", async (_: string, init: RequestInit) => {
    requests.push(String(init.body));
    if (isDown()) return new Response(null, { status: 503, headers: { "retry-after": "60" } });
    const thought = thoughts[next++] ?? ANSWER;
    return new Response(`{"text":"so"}\n{"text":" then"}\n${JSON.stringify(thought)}\n`);
  });
  onTestFinished(() => void vi.unstubAllGlobals());
  return requests;
}

async function openKit(): Promise<TestEnvironment> {
  const kit = await TestEnvironment.create({ register: [agent, think, search, remove] });
  onTestFinished(() => kit.close());
  return kit;
}

test("an agent uses a tool, waits for an approval, and answers; a crash repeats no thought", async () => {
  const requests = model([SEARCH, REMOVE]);
  const kit = await openKit();
  const handle = await kit.start(agent, { question: "clean up", budget: 100 });
  await kit.settle();
  expect(kit.calls(remove)).toEqual([]);
  await kit.crash();
  kit.raiseAt(handle, decision, { approved: true }, "2h");
  expect(await handle.result()).toBe("done");
  expect(kit.calls(remove)).toHaveLength(1);
  expect(requests).toHaveLength(3);
  expect(requests[2]).toContain("nothing about tea");
  expect(await kit.status(handle)).toEqual({ spent: 30, budget: 100 });
  const text: string[] = [];
  for await (const entry of handle.stream(tokens)) {
    if (entry.kind === "item") text.push(entry.value.text);
  }
  expect(text.join("")).toBe("so thenso thenso then");
});

test("a dangerous tool does not run without an approval", async () => {
  const requests = model([REMOVE]);
  const kit = await openKit();
  const handle = await kit.start(agent, { question: "clean up", budget: 100 });
  expect(await handle.result()).toBe("done"); // after a day without a decision
  expect(kit.calls(remove)).toEqual([]);
  expect(requests[1]).toContain("not allowed");
});

test("the budget ends a loop that does not end by itself", async () => {
  model(Array.from({ length: 50 }, () => SEARCH));
  const kit = await openKit();
  const handle = await kit.start(agent, { question: "what is tea?", budget: 35 });
  expect(await handle.result()).toBe("stopped: the budget of 35 is spent");
  expect(kit.calls(think)).toHaveLength(4);
});

test("a provider that is down for an hour delays the agent and does not fail it", async () => {
  const kit = await openKit();
  const back = kit.now.getTime() + 3_600_000;
  const requests = model([SEARCH], () => kit.now.getTime() < back);
  const handle = await kit.start(agent, { question: "what is tea?", budget: 100 });
  expect(await handle.result()).toBe("done");
  expect(requests).toHaveLength(60 + 2); // one per minute, as the provider asked
});
