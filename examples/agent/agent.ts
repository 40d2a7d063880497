// The agent: an endless loop of message, thoughts, tools, answer. It contains no code for crashes.
//   - A message is a request, and the reply is its answer. The agent takes a message when the previous one is answered;
//        further messages wait, also across executions.
//   - Variables hold what a replay rebuilds, the status holds what others read, key-values hold the facts to remember,
//        and the next execution's input holds what lasts beyond an execution.

import {
  ActivityError,
  orchestration,
  type ActivityContext,
  type OrchestrationContext,
} from "../../src/index.ts";
import {
  activityOfAgent,
  addBudget,
  bye,
  DANGEROUS,
  decide,
  recap,
  say,
  type AgentInput,
  type AgentResult,
  type AgentStatus,
  type Decision,
  type Message,
  type Thought,
  type ToolCall,
} from "./protocol.ts";
import { defineThinking } from "./thinking.ts";
import { defineTools } from "./tools.ts";
import { Workspace } from "./workspace.ts";

/** The limit of tool calls for one message, so that a looping model comes to an end. */
const CALLS_MAX = 8;

type Context = OrchestrationContext<AgentInput>;
type Outcome = { readonly outcome: string; readonly failed: boolean };

/** The state of one execution; a replay rebuilds it. */
interface Talk {
  readonly messages: Message[];
  readonly summary: string;
  /** How many of the messages were sent to the session's worker. */
  sent: number;
  budget: number;
  spent: number;
  answered: number;
}

export function defineAgent(equipment: {
  readonly workspace: string;
  readonly docs: string;
  /** The time per word of the model; a tool takes five times as long. */
  readonly paceMs: number;
}) {
  const { docs, paceMs } = equipment;
  const workspace = new Workspace(equipment.workspace);
  const entered = (ctx: ActivityContext): void =>
    workspace.noteRun(ctx.info.activity, ctx.idempotencyKey, ctx.attempt);
  const { think, summarise } = defineThinking({ paceMs, entered });
  const tools = defineTools({ docs, workspace, answerMs: paceMs * 5, entered });

  const agent = orchestration("agent", async (ctx, input: AgentInput): Promise<AgentResult> => {
    const talk = begin(input);
    const last = talk.answered + input.turnsPerExecution;
    show(ctx, talk, { state: "waiting for input", answered: talk.answered });
    void ctx.serve(recap, () => talk.messages.map(lineOf));
    for await (const call of ctx.requests(say, addBudget, bye)) {
      if (call.is(bye)) {
        const { answered, spent } = talk;
        const result = { answered, spent, executions: ctx.info.executionId };
        call.answer(result);
        return result;
      }
      if (call.is(addBudget)) call.answer((talk.budget += call.input));
      else if (call.is(say)) {
        const reply = await replyTo(ctx, input, talk, { id: call.id, text: call.input });
        talk.answered++;
        call.answer(reply);
      }
      if (talk.answered === last) break;
      show(ctx, talk, { state: "waiting for input", answered: talk.answered });
    }
    return ctx.continueAsNew({ ...input, budget: talk.budget, past: await endOf(ctx, talk) });
  });

  async function replyTo(
    ctx: Context,
    input: AgentInput,
    talk: Talk,
    { id, text }: { readonly id: string; readonly text: string },
  ): Promise<string> {
    talk.messages.push({ role: "user", text });
    let said: string | null = null;
    for (let calls = 0; said === null; calls++) {
      if (talk.spent >= talk.budget) said = `My budget of ${talk.budget} tokens is spent.`;
      else if (calls > CALLS_MAX) said = `I gave up after ${CALLS_MAX} tool calls.`;
      else {
        show(ctx, talk, { state: "thinking", message: id });
        const thought = await nextThought(ctx, talk);
        talk.spent += thought.tokens;
        if (thought.kind === "answer") said = thought.text;
        else {
          const { call } = thought;
          const outcome = await permitted(ctx, input, talk, id, call);
          talk.messages.push({ role: "tool", call, ...outcome });
        }
      }
    }
    talk.messages.push({ role: "assistant", text: said });
    await ctx.run(tools.post, { question: text, answer: said });
    return said;
  }

  /** Calls the model on the session, where a worker may have the conversation in memory. */
  async function nextThought(
    ctx: Context,
    talk: Talk,
  ): Promise<Exclude<Thought, { kind: "forgotten" }>> {
    const options = { session: ctx.info.instanceId, attempts: 3, timeout: "2m" } as const;
    for (;;) {
      const { sent: from, messages, summary } = talk;
      const news = { from, messages: messages.slice(from), summary };
      const thought = await ctx.run(think, news, options);
      talk.sent = thought.kind === "forgotten" ? 0 : messages.length;
      if (thought.kind !== "forgotten") return thought;
    }
  }

  /** Runs a tool; a dangerous one only after a person has approved it in time. */
  async function permitted(
    ctx: Context,
    input: AgentInput,
    talk: Talk,
    message: string,
    call: ToolCall,
  ): Promise<Outcome> {
    if (DANGEROUS.has(call.tool)) {
      const question = ctx.uuid();
      show(ctx, talk, { state: "waiting for approval", message, call, question });
      const first = await ctx.race({
        decided: () => decisionOn(ctx, question),
        late: ctx.sleep(input.approvalTimeout),
      });
      if (first.key === "late") return { outcome: "nobody approved it in time", failed: true };
      const { allow, by } = first.value;
      if (!allow) return { outcome: `${by} does not want it`, failed: true };
    }
    show(ctx, talk, { state: "using a tool", message, call });
    return use(ctx, call);
  }

  async function use(ctx: Context, call: ToolCall): Promise<Outcome> {
    try {
      return { outcome: await outcomeOf(ctx, call), failed: false };
    } catch (error) {
      if (!(error instanceof ActivityError)) throw error; // for example a cancellation
      return { outcome: error.message, failed: true };
    }
  }

  function outcomeOf(ctx: Context, call: ToolCall): Promise<string> | string {
    switch (call.tool) {
      case "calculate":
        return ctx.run(tools.calculate, call);
      case "search":
        return ctx.run(tools.search, call);
      case "read":
        return ctx.run(tools.read, call);
      case "write":
        return ctx.run(tools.write, call);
      case "append":
        return ctx.run(tools.append, call);
      case "delete":
        return ctx.run(tools.delete, call);
      case "remember":
        ctx.kv.set(`memory:${call.what}`, call.value);
        return `I will remember your ${call.what}`;
      case "recall":
        return ctx.kv.get<string>(`memory:${call.what}`) ?? "something you have not told me";
    }
  }

  async function endOf(ctx: Context, talk: Talk): Promise<NonNullable<AgentInput["past"]>> {
    show(ctx, talk, { state: "summing up" });
    const session = ctx.info.instanceId;
    const whole = { from: 0, messages: talk.messages, summary: talk.summary };
    const summary = await ctx.run(summarise, whole, { session, attempts: 3 });
    const { spent, answered } = talk;
    return { summary, spent, answered };
  }

  return { agent, register: [agent, think, summarise, ...Object.values(tools)] };
}

function begin({ budget, past }: AgentInput): Talk {
  const { summary = "", spent = 0, answered = 0 } = past ?? {};
  return { messages: [], summary, sent: 0, budget, spent, answered };
}

/** Decisions on earlier questions came too late and are refused. */
async function decisionOn(ctx: Context, question: string): Promise<Decision> {
  for await (const call of ctx.requests(decide)) {
    if (call.input.question === question) {
      call.answer();
      return call.input;
    }
    call.refuse("the decision came too late");
  }
  throw new Error("the loop ends only with a decision or a cancel");
}

function lineOf(message: Message): string {
  if (message.role === "tool") return `${message.call.tool}: ${message.outcome}`;
  return `${message.role}: ${message.text}`;
}

type Shown = AgentStatus extends infer S
  ? S extends unknown
    ? Omit<S, "spent" | "budget">
    : never
  : never;

function show(ctx: Context, { spent, budget }: Talk, status: Shown): void {
  ctx.set(activityOfAgent, { ...status, spent, budget });
}
