// Scopes: blocks of an orchestration that are cancelled as one.
//   Z1. A call belongs to the innermost scope of its async context. Cancelling a scope cancels the open tasks
//       of it and of the scopes inside, but of none behind a shield.
//   Z2. A call made in a cancelled scope records nothing and rejects at a drain boundary of its own (19b).

export class Scope {
  readonly kind = "scope";
  readonly run: object;
  readonly parent: Scope | null;
  readonly shielded: boolean;
  #reason: string | null = null;

  constructor(options: { run: object; parent: Scope | null; shielded?: boolean }) {
    this.run = options.run;
    this.parent = options.parent;
    this.shielded = options.shielded ?? false;
  }

  cancel(reason: string): void {
    this.#reason ??= reason;
  }

  /** Why calls made here are refused, or null. A shield stops what comes from outside of it. */
  cancelledBecause(): string | null {
    for (let scope: Scope | null = this; scope !== null; scope = scope.parent) {
      if (scope.#reason !== null) return scope.#reason;
      if (scope.shielded) return null;
    }
    return null;
  }

  /** Whether cancelling `outer` reaches this scope. */
  isWithin(outer: Scope): boolean {
    for (let scope: Scope | null = this; scope !== null; scope = scope.parent) {
      if (scope === outer) return true;
      if (scope.shielded) return false;
    }
    return false;
  }
}
