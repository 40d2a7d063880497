// The requests of people to the agent, what the agent publishes, and the messages of the model: every shape that is
// stored or sent.

import { request, value, type Duration } from "../../src/index.ts";

/** A message of a person. The answer is the agent's reply. */
export const say = request<string, string>("say");
/** More tokens. The answer is the new budget. */
export const addBudget = request<number, number>("addBudget");
/** Ends the conversation. */
export const bye = request<undefined, AgentResult>("bye");
/** What the agent and the person said in this execution. It is answered while the agent thinks, too. */
export const recap = request<undefined, readonly string[]>("recap");

/** A person's decision on a dangerous tool call. */
export interface Decision {
  /** The question that the status shows. */
  readonly question: string;
  readonly allow: boolean;
  readonly by: string;
}
export const decide = request<Decision>("decide");

export type ToolCall =
  | { readonly tool: "calculate"; readonly expression: string }
  | { readonly tool: "search"; readonly words: string }
  | { readonly tool: "read"; readonly path: string }
  | { readonly tool: "write"; readonly path: string; readonly text: string }
  | { readonly tool: "append"; readonly path: string; readonly text: string }
  | { readonly tool: "delete"; readonly path: string }
  | { readonly tool: "remember"; readonly what: string; readonly value: string }
  | { readonly tool: "recall"; readonly what: string };

/** Tools that run only after a person has approved them. */
export const DANGEROUS: ReadonlySet<ToolCall["tool"]> = new Set(["delete"]);

/** The messages that the model reads. */
export type Message =
  | { readonly role: "user"; readonly text: string }
  | { readonly role: "assistant"; readonly text: string }
  | {
      readonly role: "tool";
      readonly call: ToolCall;
      readonly outcome: string;
      readonly failed: boolean;
    };

export type Thought =
  | { readonly kind: "answer"; readonly text: string; readonly tokens: number }
  | { readonly kind: "tool"; readonly call: ToolCall; readonly tokens: number }
  /** The worker does not have the conversation in memory: it must be sent from the start. */
  | { readonly kind: "forgotten" };

/** The agent's current activity, for watchers. */
export type AgentStatus = { readonly spent: number; readonly budget: number } & (
  | { readonly state: "waiting for input"; readonly answered: number }
  | { readonly state: "thinking"; readonly message: string }
  | { readonly state: "using a tool"; readonly message: string; readonly call: ToolCall }
  | {
      readonly state: "waiting for approval";
      readonly message: string;
      readonly call: ToolCall;
      readonly question: string;
    }
  | { readonly state: "summing up" }
);
export const activityOfAgent = value<AgentStatus>("activity", { as: "status" });

/** The input of one execution; everything except the limits is carried over to the next. */
export interface AgentInput {
  readonly budget: number;
  readonly turnsPerExecution: number;
  readonly approvalTimeout: Duration;
  readonly past?: {
    readonly summary: string;
    readonly spent: number;
    readonly answered: number;
  };
}

export interface AgentResult {
  readonly answered: number;
  readonly spent: number;
  readonly executions: number;
}
