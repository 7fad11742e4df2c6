/// The app ids of Acrobits' softphones, and the accounts that they reported.
extension Schema {
    static let acrobits: SQLText = """
        CREATE TABLE acrobits_app_id (
            app_id text \(postgres: "COLLATE \"C\"") NOT NULL CHECK (length(app_id) > 0),
            application_id \(.bigint) NOT NULL REFERENCES application (id),
            platform_id \(.bigint) NOT NULL REFERENCES platform (id),
            payload text,
            PRIMARY KEY (app_id, application_id, platform_id)
        ) \(.byKey);
        CREATE INDEX acrobits_app_id_application ON acrobits_app_id (application_id);
        CREATE INDEX acrobits_app_id_platform ON acrobits_app_id (platform_id);

        -- See `AcrobitsRegistration`. A row may outlive its device, whose UUID is never given again.
        CREATE TABLE acrobits_registration (
            id \(.key),
            application_id \(.bigint) NOT NULL REFERENCES application (id),
            selector text NOT NULL,
            app_id text NOT NULL,
            token text NOT NULL,
            platform_id \(.bigint) NOT NULL,
            \(uuid: "device_uuid", "NOT NULL"),
            account text,
            seen_at_ms \(.bigint) NOT NULL
        ) \(.byID);
        CREATE UNIQUE INDEX acrobits_registration_selector ON acrobits_registration (application_id, selector, app_id);
        CREATE INDEX acrobits_registration_device ON acrobits_registration (application_id, device_uuid);
        CREATE INDEX acrobits_registration_platform ON acrobits_registration (platform_id\(postgres: ", id"));
        """
}
