// The session: the name and the role of the user.
//   - The server enforces the role. The page only disables controls that the server would refuse.

import { createContext, useContext } from "react";
import type { Role, Session } from "./types.ts";

export const SessionContext = createContext<Session | null>(null);

const RANKS: Readonly<Record<Role, number>> = { viewer: 0, operator: 1, admin: 2 };

export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === null) throw new Error("No session is open.");
  return session;
}

/** Why the user may not do an action that needs this role. Null: the user may. `what` names the action. */
export function whyNot(session: Session, needed: Role, what = "This"): string | null {
  if (session.readOnly) return "The server is read-only.";
  if (RANKS[session.role] >= RANKS[needed]) return null;
  return `${what} needs the role ${needed}; yours is ${session.role}.`;
}
