// The placeholder for an empty list: a title, and what to do.

import type { ReactElement, ReactNode } from "react";
import { Icon, type IconName } from "./icon.tsx";

export function Empty({
  icon = "inbox",
  title,
  children,
}: {
  readonly icon?: IconName;
  readonly title: string;
  readonly children?: ReactNode;
}): ReactElement {
  return (
    <div className="empty">
      <Icon name={icon} />
      <strong>{title}</strong>
      {children === undefined ? null : <span>{children}</span>}
    </div>
  );
}
