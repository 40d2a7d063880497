// A warning for an event that the instance does not wait for. The command line and the dashboard show it.
//   - Raising an event before the code waits for it is allowed, so this is a warning and never an error.
//   - awaited-event.1: The caller must read the instance before it raises the event: the event may change
//       what the instance waits for.

/** The request of `limiter.run` to its limiter. Clients cannot send it. */
export const LIMITER_REQUEST = "limiter.enter";

/** Whether only library code sends this request. */
export function isInternalRequest(name: string): boolean {
  return name === LIMITER_REQUEST;
}

/** The members of `describe()` that this file uses. The HTTP API returns the same members. */
export interface AwaitingInstance {
  readonly id: string;
  readonly status: string;
  readonly waitingFor: readonly AwaitedThing[];
  readonly blocked?: { readonly code: string; readonly message: string };
}
export interface AwaitedThing {
  readonly kind: string;
  readonly name?: string;
  /** Of served requests. */
  readonly names?: readonly string[];
  readonly internal?: boolean;
}

/**
 * Why the event stays unread for now, in one line; undefined if the instance waits for it or has not run yet.
 */
export function whyNotAwaited(instance: AwaitingInstance, event: string): string | undefined {
  const { id, status, waitingFor, blocked } = instance;
  if (blocked !== undefined) {
    const [why = ""] = blocked.message.split("\n");
    return (
      `${id} is blocked by ${blocked.code}: ${why.replace(/\.$/, "")}. ` +
      `"${event}" stays unread until the instance is unblocked.`
    );
  }
  const isAwaited = waitingFor.some(({ kind, name }) => kind === "event" && name === event);
  if (isAwaited || status === "pending") return undefined;
  return (
    `${id} does not wait for the event "${event}" now. It ${waitsText(waitingFor)}. ` +
    `"${event}" stays unread until the code waits for it.`
  );
}

/**
 * A predicate such as `waits for the event "answer"`. If there are events it names only them: a person can
 * raise them.
 */
export function waitsText(waitingFor: readonly AwaitedThing[]): string {
  const events = named(waitingFor.filter(isSendable));
  if (events.length > 0) return `waits for the ${list("event", events)}`;
  const requests = waitingFor.flatMap(({ names = [] }) => names);
  const served = requests.length === 0 ? [] : [list("request", requests)];
  const kinds = ["activity", "step", "child", "ask", "callback"] as const;
  const work = kinds.flatMap((kind) => {
    const names = named(waitingFor.filter((wait) => wait.kind === kind));
    if (names.length === 0) return [];
    return [kind === "ask" ? `the ${list("answer", names)}` : `the ${list(kind, names)}`];
  });
  const timer = waitingFor.some(({ kind }) => kind === "timer") ? ["a timer"] : [];
  const others = [...work, ...timer, ...served];
  return others.length === 0 ? "waits for nothing" : `waits for ${others.join(" and ")}`;
}

function isSendable({ kind, internal }: AwaitedThing): boolean {
  return kind === "event" && internal !== true;
}

function named(waits: readonly AwaitedThing[]): readonly string[] {
  return [...new Set(waits.flatMap(({ name }) => name ?? []))];
}

const PLURALS: Readonly<Record<string, string>> = {
  event: "events",
  activity: "activities",
  step: "steps",
  child: "children",
  callback: "callbacks",
  answer: "answers",
  request: "requests",
};
const NAMES_SHOWN = 10;

function list(kind: string, names: readonly string[]): string {
  const shown = names.slice(0, NAMES_SHOWN).map((name) => `"${name}"`);
  const more = names.length - shown.length;
  const text = shown.join(", ") + (more > 0 ? ` and ${more} more` : "");
  return `${names.length === 1 ? kind : (PLURALS[kind] ?? kind)} ${text}`;
}
