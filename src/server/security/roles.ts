// Roles of callers.
//   - A role includes all lower roles: an operator may do everything that a viewer may do.
//   - The row of each route (routes/) names the role that it needs.

/** From the lowest to the highest. */
export const ROLES = ["viewer", "operator", "admin"] as const;

/** `viewer` may read, `operator` may also start and control instances, `admin` may also delete and prune. */
export type Role = (typeof ROLES)[number];

/** The caller of a request. */
export interface Principal {
  /** The name in the audit. Instances that the caller cancels, pauses or terminates record it as `by`. */
  readonly name: string;
  readonly role: Role;
}

export function isRole(value: unknown): value is Role {
  return (ROLES as readonly unknown[]).includes(value);
}

export function mayActAs(principal: Principal, needed: Role): boolean {
  return ROLES.indexOf(principal.role) >= ROLES.indexOf(needed);
}
