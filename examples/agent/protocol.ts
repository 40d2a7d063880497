// The messages between people, the agent and the model: every shape that is stored or sent.

import { event, type Duration } from "../../src/index.ts";

/** One mailbox for everything that people send, so that it is received in the order of sending. */
export type Sent =
  | { readonly kind: "say"; readonly id: string; readonly text: string }
  | { readonly kind: "budget"; readonly tokens: number }
  | { readonly kind: "bye" };
export const inbox = event<Sent>("inbox");

/** A person's decision on a dangerous tool call. */
export interface Decision {
  readonly request: string;
  readonly allow: boolean;
  readonly by: string;
}
export const decision = event<Decision>("decision");

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

/** Custom status: the agent's current activity, for watchers. */
export type AgentStatus = { readonly spent: number; readonly budget: number } & (
  | { readonly state: "waiting for input"; readonly answered: number }
  | { readonly state: "thinking"; readonly message: string }
  | { readonly state: "using a tool"; readonly message: string; readonly call: ToolCall }
  | {
      readonly state: "waiting for approval";
      readonly message: string;
      readonly call: ToolCall;
      readonly request: string;
    }
  | { readonly state: "summing up" }
);

/** The input of one execution; everything except the limits is carried over to the next. */
export interface AgentInput {
  readonly budget: number;
  readonly turnsPerExecution: number;
  readonly approvalTimeout: Duration;
  readonly past?: {
    readonly summary: string;
    readonly spent: number;
    readonly answered: number;
    /** Messages whose replies are still in the key-values, oldest first. */
    readonly replies: readonly string[];
  };
}

export interface AgentResult {
  readonly answered: number;
  readonly spent: number;
  readonly executions: number;
}

/** The key of a message's answer; callers wait for it. */
export const replyKey = (message: string): string => `reply:${message}`;
