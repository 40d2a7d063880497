// Deliberate bugs of requests and of messages between instances (patches.ts).

import type { Patch } from "./patches.ts";

const REQUESTS = "test/scenarios/requests/requests.test.ts";
const BETWEEN = "test/scenarios/requests/between-instances.test.ts";

export const ASK_PATCHES: readonly Patch[] = [
  {
    bug: "an answer is not stored, so asking again with the same id waits forever",
    file: "src/sqlite/write/turn.ts",
    from: "for (const answer of item.answers) this.#parts.requests.answer(key, answer, now);",
    to: "void item.answers;",
    tests: [REQUESTS],
    only: "asking again",
  },
  {
    bug: "an instance that waits for an answer is not notified when the asked instance ends",
    file: "src/sql/write/asks.ts",
    from: "if (rows.length === 0) return;",
    to: "if (rows.length >= 0) return;",
    tests: [BETWEEN],
    only: "without an answer rejects the ask",
  },
  {
    bug: "a request with a repeated id runs its handler again",
    file: "src/sqlite/write/asks.ts",
    from: "      return repeated(target, earlier, item);\n    }",
    to: '      if (earlier.outcome === "finished") return repeated(target, earlier, item);\n    }',
    tests: [REQUESTS],
    only: "asking again",
  },
  {
    bug: "a request that its asker withdrew is still received",
    file: "src/sql/write/asks.ts",
    from: "DELETE FROM @inbox WHERE instance = $1 AND kind = 'event' AND key = $2 RETURNING parked",
    to: "DELETE FROM @inbox WHERE instance = $1 AND kind = 'none' AND key = $2 RETURNING parked",
    tests: [BETWEEN],
    only: "is withdrawn",
  },
  {
    bug: "requests without an answer are lost when their instance continues as new",
    file: "src/runtime/replay/turn-commit.ts",
    from: "const unread = [...events, ...requests];",
    to: "const unread = requests.length === 0 ? events : [...events];",
    tests: [REQUESTS],
    only: "move along",
  },
  {
    bug: "a handler that throws leaves its request without an answer",
    file: "src/core/replay/requests/request-services.ts",
    from: '(error: unknown) => this.#over(scope, () => call.end("failed", error)),',
    to: "() => this.#over(scope, () => undefined),",
    tests: [REQUESTS],
    only: "a handler that throws",
  },
];
