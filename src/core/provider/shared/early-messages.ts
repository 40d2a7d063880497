// Early messages: limits of events that wait for an id that does not exist yet (semantics 18a).

/** How many wait per id. */
export const EARLY_MESSAGES_MAX = 1_000;
/** How long one waits. */
export const EARLY_MESSAGE_MS = 7 * 86_400_000;
