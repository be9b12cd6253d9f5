import { dashboardGrants } from "./dashboard-rights.ts";
import { isSmall } from "./embedded-memory.ts";

/** What the embedded server's configuration depends on. Passwords go in as hex SHA-256. */
export type EmbeddedSettings = {
  readonly configFile: string;
  readonly logFile: string;
  readonly database: string;
  readonly writerSha256: string;
  readonly grafanaSha256: string;
  /** What the server may allocate. */
  readonly memoryBytes: number;
};

/**
 * The embedded server's configuration file.
 *
 * The session that keeps the server alive runs as `default`, which must exist and has no password; one session is all
 * it may have, so no other process can log in as it. The services are `noisefloor`; dashboards are `grafana`, which may
 * only read, within limits that it cannot change. The container's users.xml gives it the same ones.
 */
export function embeddedConfigXml(settings: EmbeddedSettings): string {
  const share = (divisor: number) => Math.floor(settings.memoryBytes / divisor);
  return `<clickhouse>
  <users_config>${xml(settings.configFile)}</users_config>
  <logger>
    <log>${xml(settings.logFile)}</log>
    <size>10M</size>
    <count>3</count>
    <!-- The thread that logs for all others takes a whole processor while the disk is full. -->
    <async>false</async>
  </logger>
  <!-- A backup goes wherever the user of this process may write, and only noisefloor, the same person, may ask for one. -->
  <backups><allowed_path>/</allowed_path></backups>
  <!-- With two threads each, as in a command line, each insert would log a warning that one of them is busy. -->
  <background_schedule_pool_size>64</background_schedule_pool_size>
  <background_streaming_schedule_pool_size>64</background_streaming_schedule_pool_size>
  <!-- With 4 tasks, as in a command line, a deletion that finds them all taken waits for ten seconds or more. -->
  <background_merges_mutations_concurrency_ratio>4</background_merges_mutations_concurrency_ratio>
  <!-- Reading the memory of the process twenty times a second takes half the processor time of an idle server. -->
  <memory_worker_period_ms>500</memory_worker_period_ms>
  <max_server_memory_usage>${settings.memoryBytes}</max_server_memory_usage>
  <!-- Of what is free besides: other processes may take memory after the start. -->
  <max_server_memory_usage_to_ram_ratio>0.9</max_server_memory_usage_to_ram_ratio>
  <!-- The memory of a container or unit includes the service's, which is not the server's to account for. -->
  <memory_worker_use_cgroup>false</memory_worker_use_cgroup>
  <merges_mutations_memory_usage_soft_limit>${share(2)}</merges_mutations_memory_usage_soft_limit>
  <mark_cache_size>${share(16)}</mark_cache_size>
  <index_mark_cache_size>${share(64)}</index_mark_cache_size>
${isSmall(settings.memoryBytes) ? SMALL_SERVER : ""}  <!-- grafana may change some settings although it may only read: that takes the first. With the second, as in the
       container, it reads nothing of what the server knows about itself. -->
  <access_control_improvements>
    <settings_constraints_replace_previous>true</settings_constraints_replace_previous>
    <select_from_system_db_requires_grant>true</select_from_system_db_requires_grant>
  </access_control_improvements>
  <profiles>
    <default>${isSmall(settings.memoryBytes) ? SMALL_QUERIES : ""}</default>
    <keepalive><max_sessions_for_user>1</max_sessions_for_user></keepalive>
    <dashboards>
      <readonly>1</readonly>
      <max_execution_time>60</max_execution_time>
      <max_threads>2</max_threads>
      <max_memory_usage>1073741824</max_memory_usage>
      <max_memory_usage_for_user>2147483648</max_memory_usage_for_user>
      <max_temporary_data_on_disk_size_for_user>1073741824</max_temporary_data_on_disk_size_for_user>
      <max_concurrent_queries_for_user>20</max_concurrent_queries_for_user>
      <max_result_rows>1000000</max_result_rows>
      <max_result_bytes>268435456</max_result_bytes>
      <constraints>
        <max_execution_time><min>1</min><max>300</max><changeable_in_readonly/></max_execution_time>
        <additional_table_filters><changeable_in_readonly/></additional_table_filters>
        <limit><changeable_in_readonly/></limit>
      </constraints>
    </dashboards>
  </profiles>
  <quotas><default/></quotas>
  <users>
    <default>
      <password></password>
      <networks><ip>127.0.0.1</ip></networks>
      <profile>keepalive</profile>
      <quota>default</quota>
    </default>
    <noisefloor>
      <password_sha256_hex>${settings.writerSha256}</password_sha256_hex>
      <networks><ip>127.0.0.1</ip></networks>
      <profile>default</profile>
      <quota>default</quota>
    </noisefloor>
    <grafana>
      <password_sha256_hex>${settings.grafanaSha256}</password_sha256_hex>
      <networks><ip>127.0.0.1</ip></networks>
      <profile>dashboards</profile>
      <quota>default</quota>
      <grants>${dashboardGrants(settings.database)
        .map((grant) => `<query>${grant}</query>`)
        .join("")}</grants>
    </grafana>
  </users>
</clickhouse>
`;
}

/** Merges read and write every column of all their parts at a time, through buffers of these sizes. */
const SMALL_SERVER = `  <memory_worker_purge_dirty_pages_threshold_ratio>0.05</memory_worker_purge_dirty_pages_threshold_ratio>
  <memory_worker_purge_total_memory_threshold_ratio>0.5</memory_worker_purge_total_memory_threshold_ratio>
  <merge_tree>
    <merge_max_block_size>2048</merge_max_block_size>
    <merge_max_block_size_bytes>2097152</merge_max_block_size_bytes>
  </merge_tree>
`;

/** Large groupings and sortings go through files sooner; compiled expressions would take memory of their own. */
const SMALL_QUERIES = `
      <max_threads>1</max_threads>
      <compile_expressions>0</compile_expressions>
      <compile_aggregate_expressions>0</compile_aggregate_expressions>
      <compile_sort_description>0</compile_sort_description>
      <max_bytes_ratio_before_external_group_by>0.25</max_bytes_ratio_before_external_group_by>
      <max_bytes_ratio_before_external_sort>0.25</max_bytes_ratio_before_external_sort>
    `;

function xml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
