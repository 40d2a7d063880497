// Scopes: blocks of an orchestration that can be cancelled as a whole.
//   - A call belongs to the innermost scope of its async context. Cancelling a scope cancels its open tasks
//       and those of the scopes inside it, except behind a shield.
//   - A call in a cancelled scope records nothing. Its task rejects in a separate drain (19b).

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

  /** The reason why calls in this scope reject, or null. A shield blocks cancellations from outside. */
  cancelReason(): string | null {
    for (let scope: Scope | null = this; scope !== null; scope = scope.parent) {
      if (scope.#reason !== null) return scope.#reason;
      if (scope.shielded) return null;
    }
    return null;
  }

  /** Whether cancelling `outer` cancels this scope. */
  isWithin(outer: Scope): boolean {
    for (let scope: Scope | null = this; scope !== null; scope = scope.parent) {
      if (scope === outer) return true;
      if (scope.shielded) return false;
    }
    return false;
  }
}
