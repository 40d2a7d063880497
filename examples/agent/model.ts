// The stand-in for a language model: it reads the conversation, and either calls a tool or answers.
//   It needs no network and is deterministic, so that two runs can be compared. A real model would be called at the
//   same place and need not be deterministic: its answer is recorded once, and a replay gets the recorded answer.

import type { Message, Thought, ToolCall } from "./protocol.ts";

const CALL_TOKENS = 3;
const HELP =
  "I can calculate 6*7, search for words, write TEXT to FILE, note TEXT, read FILE, delete FILE, " +
  "remember that my NAME is VALUE, and say what we talked about. Join several by “and then”.";

export function nextThought(summary: string, messages: readonly Message[]): Thought {
  const asked = messages.findLastIndex(({ role }) => role === "user");
  const question = messages[asked];
  const text = question?.role === "user" ? question.text : "";
  const done = messages.slice(asked + 1).filter((message) => message.role === "tool");
  const clauses = text.split(/(?:;|,? and then) +/i);
  const next = clauses[done.length];
  const call = next === undefined ? null : callFor(next, done.at(-1)?.outcome ?? "");
  const isStuck = done.at(-1)?.failed === true;
  if (call !== null && !isStuck) {
    return { kind: "tool", call, tokens: count(text) + CALL_TOKENS };
  }
  const said =
    done.length === 0 ? withoutTools(text, summary, messages) : done.map(describeOutcome).join(" ");
  return { kind: "answer", text: said, tokens: count(text) + count(said) };
}

/** A summary of the conversation in a few words. */
export function summaryOf(before: string, messages: readonly Message[]): string {
  const topics = messages.flatMap((message) => (message.role === "user" ? [message.text] : []));
  return [before, ...topics].filter(Boolean).join("; ").slice(-600);
}

/** `it` is the answer of the previous tool. */
function callFor(clause: string, it: string): ToolCall | null {
  const words = (text = ""): string => (text === "it" ? it : text);
  const match = (pattern: RegExp): RegExpExecArray | null => pattern.exec(clause.trim());
  let found: RegExpExecArray | null;
  if ((found = match(/^calculate (.+)$/i)))
    return { tool: "calculate", expression: words(found[1]) };
  if ((found = match(/^search (?:the docs )?for (.+)$/i))) {
    return { tool: "search", words: words(found[1]) };
  }
  if ((found = match(/^write (.+) to (\S+)$/i))) {
    return { tool: "write", path: found[2] ?? "", text: words(found[1]) };
  }
  if ((found = match(/^note (.+)$/i))) {
    return { tool: "append", path: "notes.md", text: words(found[1]) };
  }
  if ((found = match(/^read (\S+)$/i))) return { tool: "read", path: found[1] ?? "" };
  if ((found = match(/^delete (\S+)$/i))) return { tool: "delete", path: found[1] ?? "" };
  if ((found = match(/^remember that my (\w+) is (.+)$/i))) {
    return { tool: "remember", what: found[1] ?? "", value: words(found[2]) };
  }
  if ((found = match(/^what is my (\w+)\??$/i))) return { tool: "recall", what: found[1] ?? "" };
  return null;
}

function describeOutcome({ call, outcome, failed }: Extract<Message, { role: "tool" }>): string {
  if (failed) return `I could not ${call.tool}: ${outcome}.`;
  switch (call.tool) {
    case "calculate":
      return `${call.expression} is ${outcome}.`;
    case "search":
      return `The docs say: ${outcome}`;
    case "read":
      return `${call.path} says: ${outcome}`;
    case "recall":
      return `Your ${call.what} is ${outcome}.`;
    case "write":
    case "append":
    case "delete":
    case "remember":
      return `${outcome}.`;
  }
}

function withoutTools(text: string, summary: string, messages: readonly Message[]): string {
  if (!/^what did we talk about\??$/i.test(text.trim())) return HELP;
  return `We talked about: ${summaryOf(summary, messages.slice(0, -1)) || "nothing yet"}.`;
}

function count(text: string): number {
  return text.split(/\s+/).filter(Boolean).length;
}
