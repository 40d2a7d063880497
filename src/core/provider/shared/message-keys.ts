// Message keys: the keys of messages that the engine writes; a second message with the same key is not
// stored (messages.3).

interface Caller {
  readonly execution: number;
  readonly sequence: number;
}

/** The outcome of an inline step. */
export function stepKey({ execution, sequence }: Caller): string {
  return `s:${execution}:${sequence}`;
}

/** The outcome of an activity. */
export function activityKey({ execution, sequence }: Caller): string {
  return `a:${execution}:${sequence}`;
}

/** The outcome of a child, for the parent's execution that started it. */
export function childKey({ execution, sequence }: Caller): string {
  return `c:${execution}:${sequence}`;
}

/** The execution that started the child, from the key of its outcome. */
export function childKeyExecution(key: string): number {
  return Number(key.split(":")[1]);
}

/** The answer to a request, for the execution that asked. */
export function answerKey({ execution, sequence }: Caller): string {
  return `a:${execution}:${sequence}`;
}

/** The result of a dispatched item, for the execution that sent it. */
export function sentKey({ execution, sequence }: Caller): string {
  return `d:${execution}:${sequence}`;
}
