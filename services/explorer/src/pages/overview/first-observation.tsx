import { BASE } from "../../routing/paths.ts";
import { CopyButton } from "../../shell/controls/copy-button.tsx";

/** What there is to do while nothing is stored. */
export function FirstObservation() {
  const command = sendingTo(`${location.origin}${BASE}`);
  return (
    <section aria-labelledby="start">
      <h2 id="start">No observation is stored yet</h2>
      <p>These pages show what sensors send. There are three ways to begin.</p>
      <h3>Send an observation</h3>
      <pre data-command>{command}</pre>
      <p class="actions">
        <CopyButton text={command}>Copy</CopyButton>
      </p>
      <p>
        It shows here immediately. A 401 means that the intake wants the key of a sensor: add{" "}
        <code>-H "key: $SENSOR_KEY"</code>. Where the intake is a process of its own, send it there. For honeypots, log
        files and Kafka see <code>docs/ingest.md</code> and <code>docs/sensors.md</code>.
      </p>
      <h3>Look at a demo</h3>
      <p>
        <code>npm start -- --demo</code>, or <code>./noisefloor simulate</code> beside a running service, stores 30 days
        of a simulated fleet. <code>./noisefloor simulate --remove</code> deletes them again.
      </p>
      <h3>Enter your key</h3>
      <p>
        Without a key you see the last day of the dataset for all. The first start made a key that may see everything:
        it was shown on the terminal, or is in <code>$DATA_DIR/first-key-*</code> (<code>./.data</code> unless set).
        Another one: <code>./noisefloor keys create default</code>. Enter it with the button Key at the top.
      </p>
    </section>
  );
}

/** As a shell takes it, whatever the time. */
function sendingTo(url: string): string {
  const observed = `"observed_at":"'$(date -u +%FT%TZ)'","sensor_id":"my-sensor","source_ip":"192.175.48.6"`;
  return `curl -X POST ${url}/v1/observations -d '{${observed},"destination_port":22,"transport":"tcp","tags":["ssh-scanner"]}'`;
}
