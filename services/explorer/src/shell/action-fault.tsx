import { Hostile } from "../text/hostile.tsx";

type ActionFaultProps = {
  /** Empty while nothing failed. */
  readonly message: string;
  /** By which the fields that it is about name it. */
  readonly id?: string;
};

/** Why what a button sends failed, read out as soon as it is there. */
export function ActionFault({ message, id }: ActionFaultProps) {
  if (message === "") return null;
  return (
    <p id={id} class="message" role="alert">
      <Hostile text={message} />
    </p>
  );
}
