// A link to the page of an instance.

import type { ReactElement } from "react";
import { addressTo } from "../router/hash-location.ts";

export function InstanceLink({ id }: { readonly id: string }): ReactElement {
  return (
    <a className="mono wrap" href={addressTo(["instances", id])}>
      {id}
    </a>
  );
}
