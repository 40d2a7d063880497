// Roles: who may do what through the server.
//   RO1. A role includes those below it: an operator sees what a viewer sees, an admin may do all.
//   RO2. What each route asks for stands in the route's own row (routes/), and nowhere else.

/** From the least to the most. */
export const ROLES = ["viewer", "operator", "admin"] as const;

/** `viewer` looks, `operator` also starts, signals and steers, `admin` also removes. */
export type Role = (typeof ROLES)[number];

/** Who makes a request. */
export interface Principal {
  /** Shown in the audit, and kept as `by` with what was cancelled, paused or terminated. */
  readonly name: string;
  readonly role: Role;
}

export function isRole(value: unknown): value is Role {
  return (ROLES as readonly unknown[]).includes(value);
}

export function mayActAs(principal: Principal, needed: Role): boolean {
  return ROLES.indexOf(principal.role) >= ROLES.indexOf(needed);
}
