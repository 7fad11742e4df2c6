/// One sentence on each metric, for the `# HELP` lines of the metrics page. docs/Metrics.md says more.
enum MetricHelp {
    static let sentences: [String: String] = [
        "belfry_log_lines_dropped_total":
            "Log lines that were dropped because their reader was too slow.",
        "belfry_accept_failures_total":
            "Connections that could not be accepted, mostly since descriptors ran out.",
        "belfry_acrobits_calls_total":
            "Messages that the mediator was given, by the code of its answer.",
        "belfry_acrobits_reports_total":
            "Reports of Acrobits' softphones.",
        "belfry_analytics_events_total":
            "Events that apps reported.",
        "belfry_batch_age_seconds":
            "Age of a push when a delivery worker first claims one of its batches.",
        "belfry_batches_damaged":
            "Open batches that cannot be read.",
        "belfry_batches_in_flight":
            "Batches being sent.",
        "belfry_batches_settled_total":
            "Batches whose last device has its answer.",
        "belfry_connections_buffered_bytes":
            "Bytes that connections hold.",
        "belfry_connections_open":
            "Open connections of http, management, genero, gateway and feedback.",
        "belfry_connections_refused_total":
            "Connections refused.",
        "belfry_credentials_days":
            "Whole days until the first of the platforms' credentials expire.",
        "belfry_credentials_probes_total":
            "Attempts with credentials that were refused.",
        "belfry_delivery_faults_total":
            "Store errors after which work was retried.",
        "belfry_devices_answered_total":
            "Final answers of devices.",
        "belfry_devices_deactivated_total":
            "Devices deactivated because their tokens are dead.",
        "belfry_devices_fanned_out_total":
            "Devices that pushes were fanned out to.",
        "belfry_event_loop_lag_seconds":
            "Lateness of each event loop with a due task, measured once a second.",
        "belfry_event_readers":
            "Open event streams.",
        "belfry_events_lost_total":
            "Events that slow readers of streams missed.",
        "belfry_fan_outs_damaged":
            "Platforms on which the audience of a push cannot be scanned, since the push cannot be read.",
        "belfry_gateway_records_total":
            "Records of senders of Apple's protocols.",
        "belfry_geofence_updates_total":
            "Silent pushes that notified devices of changed geofences.",
        "belfry_heartbeat_age_seconds":
            "Seconds since the newest heartbeat that a device of the type sent.",
        "belfry_http_authentication_failures_total":
            "Requests refused because of their credentials.",
        "belfry_http_limited_total":
            "Requests refused with a 429.",
        "belfry_http_request_duration_seconds":
            "Duration of a request.",
        "belfry_http_requests_total":
            "Requests answered.",
        "belfry_leases_lost_total":
            "Batches whose lease was lost to another claim before they were settled.",
        "belfry_mirror_backlog_entries":
            "Registrations that the old server of a dual run has yet to hear of.",
        "belfry_mirror_dropped_total":
            "Registrations that the old server will never hear of.",
        "belfry_nodes":
            "Running nodes on this PostgreSQL, as this node counts them.",
        "belfry_nodes_gone":
            "Nodes that fell silent without deregistering and are still listed.",
        "belfry_oldest_due_batch_seconds":
            "Seconds for which the oldest due batch has been due, parked platforms aside.",
        "belfry_platforms_parked":
            "Platforms that are parked now, measured every two seconds.",
        "belfry_platforms_parked_total":
            "Platforms that were parked: an operator should look.",
        "belfry_provider_connection_faults_total":
            "Devices that wait because the provider of a platform could not be connected to.",
        "belfry_provider_send_duration_seconds":
            "Time of a provider for one call, with a burst of up to 500 devices.",
        "belfry_push_delivery_seconds":
            "Seconds from the acceptance of a push to the answer of the last device of a batch.",
        "belfry_push_services_parked":
            "Push services of web platforms that are parked alone, measured every two seconds.",
        "belfry_pushes_accepted_total":
            "Pushes accepted from all senders.",
        "belfry_quota_refusals_total":
            "Requests refused because a quota is used up.",
        "belfry_ready":
            "1 while the server is ready, 0 while /health/ready is 503.",
        "belfry_registrations_mismatched_os_total":
            "Registrations whose os is not that of their platform.",
        "belfry_registrations_total":
            "Devices registered or updated by apps, by browsers, by the admin API and by commands.",
        "belfry_rows_deleted_total":
            "Rows deleted by age.",
        "belfry_schedule_late_seconds":
            "Seconds from the due time of a schedule to the acceptance of its push.",
        "belfry_schedules_ended_total":
            "Schedules that ended, and times of recurring ones, by their ending.",
        "belfry_share_refusals_total":
            "Requests refused because a share of their caller, or all of it, was in use.",
        "belfry_spans_total":
            "Spans of pushes, by what became of them.",
        "belfry_store_transaction_seconds":
            "Duration of a transaction, without the wait for the disk.",
        "belfry_store_writes_waiting":
            "Writes that wait for the writer or for a connection, at the last transaction.",
        "belfry_tls_certificate_days":
            "Whole days until the certificate in use expires.",
        "belfry_tls_reloads_total":
            "New certificates that were taken or refused.",
        "belfry_webhook_attempts_total":
            "Requests to webhooks, by their result.",
        "belfry_webhook_event_age_seconds":
            "Seconds from an event to its delivery to a webhook.",
        "belfry_webhook_events_dropped_total":
            "Events that a webhook never got, because they were too old or too many.",
        "belfry_webhooks_paused_total":
            "Webhooks paused because their receiver failed for three days, or is gone.",
    ]
}
