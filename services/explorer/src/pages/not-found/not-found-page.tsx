import { usePageTitle } from "../../frame/layout.tsx";
import { BASE } from "../../routing/paths.ts";

export function NotFoundPage() {
  usePageTitle("No such page");
  return (
    <>
      <h1>There is no such page</h1>
      <p>
        The address may be mistyped. Search above, or go to the <a href={`${BASE}/`}>overview</a>.
      </p>
    </>
  );
}
