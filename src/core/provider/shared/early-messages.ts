// Early messages: limits of events that wait for an id that does not exist yet (semantics 18a).

/** How many wait per id. Expired entries do not count. */
export const EARLY_MESSAGES_MAX = 1_000;
/** How long one waits if its sender gives no `keepForMs`. */
export const KEEP_MS = 7 * 86_400_000;
/** How long one may wait at most. */
export const KEEP_MS_MAX = 3_653 * 86_400_000;
/** How long an expired message stays listed, without its data. */
export const EXPIRED_LISTED_MS = 7 * 86_400_000;
