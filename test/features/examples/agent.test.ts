// The agent example: killing its real process during turns does not affect the conversation.

import { expect, test } from "vitest";
import { send, SCRIPT } from "../../../examples/agent/script.ts";
import { chanceOf, seedFromEnvironment } from "../../faults/kill/chance.ts";
import { until } from "../../faults/trouble/support.ts";
import { AgentFolder, EFFECTS, type Sight } from "./agent-process.ts";

const TIMEOUT_MS = 180_000;
/** A word of the model takes 20 ms, a tool 100 ms, a decision 200 ms: long enough for a kill to hit them. */
const PACE = ["--pace", "20"];
const RANDOM_KILLS = 4;
/** A kill comes shortly after its kill point is observed. Sometimes the outcome is written by then. */
const REPEATED_MIN = 3;
const QUESTIONS = SCRIPT.flatMap((sent) => (sent.kind === "say" ? [sent] : []));

interface KillPoint {
  readonly when: string;
  readonly isReached: (sight: Sight, agent: AgentFolder) => boolean | Promise<boolean>;
}

/** In the order of the script. */
const KILL_POINTS: readonly KillPoint[] = [
  {
    when: "the agent thinks about the first message",
    isReached: ({ status }) => status?.state === "thinking",
  },
  {
    when: "a note is on disk and its call has no outcome yet",
    isReached: (_, agent) => isDoneAndUnrecorded(agent, "append"),
  },
  {
    when: "an answer is posted but its call has no outcome yet",
    isReached: (_, agent) => isDoneAndUnrecorded(agent, "post"),
  },
  {
    when: "the model streams an answer",
    isReached: ({ info }) =>
      info.waitingFor.some((wait) => wait.kind === "activity" && isSpeech(wait.progress)),
  },
  {
    when: "the agent sums up before it continues as new",
    isReached: ({ status }) => status?.state === "summing up",
  },
  {
    when: "the agent thinks in a later execution",
    isReached: ({ status, info }) => status?.state === "thinking" && info.execution >= 2,
  },
  {
    when: "the agent waits for an approval",
    isReached: ({ status }) => status?.state === "waiting for approval",
  },
  {
    when: "a file is deleted but its call has no outcome yet",
    isReached: (_, agent) => isDoneAndUnrecorded(agent, "delete"),
  },
  {
    when: "the agent uses a tool in the third execution or later",
    isReached: ({ status, info }) => status?.state === "using a tool" && info.execution >= 3,
  },
];

test(
  "an agent that is killed repeatedly answers every message once and applies every side effect once",
  { timeout: TIMEOUT_MS },
  async () => {
    const seed = seedFromEnvironment();
    const random = chanceOf(seed);
    console.log(`PERDURE_SEED=${seed}`);
    const undisturbed = await AgentFolder.make("calm", ...PACE);
    const agent = await AgentFolder.make("killed", ...PACE);
    const [calm] = await Promise.all([
      undisturbed.spawn("script").end(),
      killRepeatedly(agent, random.between),
    ]);
    expect(calm).toBe(0);

    const last = agent.spawn("script");
    expect(await last.end(), last.output).toBe(0);

    // It leaves the same files and results as a process without kills.
    expect(agent.files()).toEqual(undisturbed.files());
    expect(await agent.handle.result()).toEqual(await undisturbed.handle.result());
    expect(await repliesOf(agent)).toEqual(await repliesOf(undisturbed));
    // Every message has one answer, in order, and every line of the notes is there once.
    const posted = [...(agent.file("chat.md") ?? "").matchAll(/^\*\*you\*\*: (.*)$/gm)];
    expect(posted.map(([, question]) => question)).toEqual(QUESTIONS.map(({ text }) => text));
    expect(agent.file("notes.md")).toBe("- 42\n- buy milk\n- buy bread\n");
    expect(agent.file("old.txt")).toBeNull();
    expect(agent.file("keep.txt")).toBe("a treasure\n");
    // Every scheduled side effect happened once under its key, and no other side effect happened.
    const keys = (await agent.asked()).map(({ key }) => key);
    expect(agent.effects().begun).toEqual([]);
    expect([...agent.effects().done].sort()).toEqual(keys.sort());
    // The kills were effective: runs were interrupted and repeated, some of them with side effects.
    const runs = agent.runs();
    const again = runs
      .filter(({ key }, index) => runs.findIndex((run) => run.key === key) < index)
      .map(({ name }) => name);
    console.log(`${runs.length} runs, repeated: ${again.join(" ")}`);
    expect(again.length).toBeGreaterThanOrEqual(REPEATED_MIN);
    expect(again.filter((name) => EFFECTS.includes(name))).not.toEqual([]);
    expect((await agent.handle.executions()).length).toBeGreaterThan(3);
  },
);

/** Kills the process at every kill point, then at random times. */
async function killRepeatedly(
  agent: AgentFolder,
  between: (low: number, high: number) => number,
): Promise<void> {
  for (const { when, isReached } of KILL_POINTS) {
    const child = agent.spawn("script");
    await until(when, async () => {
      if (child.isGone) throw new Error(`the process ended before ${when}: ${child.output}`);
      const sight = await agent.see();
      return sight !== null && (await isReached(sight, agent));
    });
    await child.kill();
  }
  for (let kills = 0; kills < RANDOM_KILLS; kills++) {
    const child = agent.spawn("script");
    const deadline = performance.now() + between(150, 900);
    await until("the time of the kill has come", () => performance.now() > deadline);
    await child.kill();
  }
}

/** True if the side effect happened but history has no outcome of its call. */
async function isDoneAndUnrecorded(agent: AgentFolder, name: string): Promise<boolean> {
  const { done } = agent.effects();
  const open = (await agent.asked()).filter((call) => call.name === name && !call.isRecorded);
  return open.some(({ key }) => done.includes(key));
}

/** True for words of an answer, false for a tool call. */
function isSpeech(progress: unknown): boolean {
  return progress !== undefined && JSON.stringify(progress) !== JSON.stringify({ text: "…" });
}

/** The answers, which the store keeps after the end of the conversation. */
function repliesOf(agent: AgentFolder): Promise<readonly unknown[]> {
  return Promise.all(SCRIPT.map((sent, place) => send(agent.handle, sent, place)));
}

test("a typed conversation continues after its process was killed", async () => {
  const agent = await AgentFolder.make("typed", "--pace", "1");
  const first = agent.spawn("chat");
  first.type("remember that my name is Ada");
  await first.prints("agent: I will remember your name.");
  first.type("calculate (2+3)*4");
  await first.prints("agent: (2+3)*4 is 20.");
  await first.kill();

  const second = agent.spawn("chat");
  second.type("what is my name?");
  await second.prints("agent: Your name is Ada.");
  second.type("what did we talk about?");
  await second.prints("We talked about: remember that my name is Ada; calculate (2+3)*4;");
  second.type("/bye");
  expect(await second.end()).toBe(0);
  expect(await agent.handle.result()).toMatchObject({ answered: 4, executions: 1 });
});

test("a dangerous tool waits for approval: a rejection is respected, an approval is executed", async () => {
  const agent = await AgentFolder.make("careful", "--pace", "1");
  const chat = agent.spawn("chat");
  chat.type("write one to a.txt and then delete a.txt");
  await chat.prints("agent: may I delete a.txt? /yes or /no");
  const sight = await agent.see();
  expect(sight?.status).toMatchObject({ call: { tool: "delete", path: "a.txt" } });
  expect(sight?.info.waitingFor).toMatchObject([
    { kind: "requests", names: ["recap"] },
    { kind: "requests", names: ["say", "addBudget", "bye"] },
    { kind: "timer" },
    { kind: "requests", names: ["decide"] },
  ]);
  chat.type("/recap");
  await chat.prints("user: write one to a.txt and then delete a.txt\n  write: Wrote a.txt");
  chat.type("/no");
  await chat.prints("agent: Wrote a.txt. I could not delete: the user does not want it.");
  expect(agent.file("a.txt")).toBe("one\n");
  chat.type("delete a.txt");
  await until("the agent requests approval again", () => chat.output.split("may I").length === 3);
  chat.type("/yes");
  await chat.prints("agent: Deleted a.txt.");
  expect(agent.file("a.txt")).toBeNull();
});

test("a dangerous tool without a decision in time is not used", async () => {
  const agent = await AgentFolder.make("alone", "--pace", "1", "--approval", "200ms");
  const chat = agent.spawn("chat");
  chat.type("write one to a.txt and then delete a.txt");
  await chat.prints("agent: Wrote a.txt. I could not delete: nobody approved it in time.");
  expect(agent.file("a.txt")).toBe("one\n");
});

test("a conversation moves to another worker when its worker dies, and the model receives the whole conversation", async () => {
  const agent = await AgentFolder.make("moved", "--pace", "1");
  const chat = agent.spawn("chat", "--no-worker");
  const one = agent.spawn("worker");
  chat.type("note from the first worker");
  await chat.prints("agent: Noted in notes.md.");
  await one.kill();
  agent.spawn("worker");
  chat.type("what did we talk about?");
  await chat.prints("We talked about: note from the first worker.");
  const thoughts = (await agent.see())?.history.filter(
    (event) => event.kind === "ActivityCompleted" && event.output.includes("forgotten"),
  );
  expect(thoughts).toHaveLength(1);
});
