/// The customers of Carma that moved here, their apps, and what those registered and were sent.
extension Schema {
    static let carma = SchemaPart(
        [
            StoreTable("carma_account", rows: .operators),
            StoreTable("carma_app", rows: .limit(.carmaApps), of: .application),
            StoreTable("carma_trigger", rows: .limit(.carmaTriggers), of: .row(of: "carma_app", by: "app_key")),
            StoreTable("carma_device", rows: .quota(.devices), of: .application, goesWithPlatform: true),
            StoreTable(
                "carma_message", rows: .perRow("app_user", CarmaMessage.perContact), of: .application,
                expiry: .init(.pushes, "sent_at_ms")),
            StoreTable(
                "carma_import", rows: .perRow("carma_app", CarmaImport.perApp),
                of: .row(of: "carma_app", by: "app_key"), expiry: .init(.pushes, "created_at_ms")),
        ],
        sql: """
            CREATE TABLE carma_account (
                id \(.key),
                customer_id \(.bigint) NOT NULL,
                user_name text NOT NULL,
                password_hash \(.bytes) NOT NULL,
                token_hash \(.bytes) NOT NULL UNIQUE,
                created_at_ms \(.bigint) NOT NULL
            ) \(.byID);
            CREATE UNIQUE INDEX carma_account_user ON carma_account (user_name, customer_id);

            CREATE TABLE carma_app (
                id \(.key),
                customer_id \(.bigint) NOT NULL,
                app_id text NOT NULL,
                application_id \(.bigint) NOT NULL REFERENCES application (id)
            ) \(.byID);
            CREATE UNIQUE INDEX carma_app_app_id ON carma_app (app_id, customer_id);
            CREATE INDEX carma_app_application ON carma_app (application_id\(postgres: ", id"));

            -- `template`: JSON; see `CarmaTemplate`.
            CREATE TABLE carma_trigger (
                id \(.key),
                app_key \(.bigint) NOT NULL REFERENCES carma_app (id),
                template text NOT NULL
            ) \(.byID);
            CREATE INDEX carma_trigger_app ON carma_trigger (app_key\(postgres: ", id"));

            -- The tokens of contacts, invalid ones too. A row may outlive its device, whose UUID is never given again.
            CREATE TABLE carma_device (
                id \(.key),
                application_id \(.bigint) NOT NULL REFERENCES application (id),
                contact text NOT NULL,
                token text NOT NULL,
                platform_id \(.bigint) NOT NULL,
                \(uuid: "device_uuid", "NOT NULL"),
                country text,
                invalidation \(.bigint) NOT NULL CHECK (invalidation BETWEEN 0 AND 3),
                invalidated_at_ms \(.bigint),
                CHECK ((invalidation = 0) = (invalidated_at_ms IS NULL))
            ) \(.byID);
            CREATE INDEX carma_device_contact ON carma_device (application_id, contact\(postgres: ", id"));
            CREATE INDEX carma_device_uuid ON carma_device (application_id, device_uuid);
            CREATE INDEX carma_device_platform ON carma_device (platform_id\(postgres: ", id"));

            -- What was sent to contacts, with their pages.
            CREATE TABLE carma_message (
                id \(.key),
                application_id \(.bigint) NOT NULL REFERENCES application (id),
                trigger_id \(.bigint) NOT NULL,
                contact text NOT NULL,
                name text NOT NULL,
                html text NOT NULL,
                page_hash \(.bytes) NOT NULL UNIQUE CHECK (length(page_hash) = 32),
                \(uuid: "receipt_id"),
                schedule_id \(.bigint),
                sent_at_ms \(.bigint) NOT NULL,
                read_at_ms \(.bigint)
            ) \(.byID);
            CREATE INDEX carma_message_sent ON carma_message (sent_at_ms);
            CREATE INDEX carma_message_contact ON carma_message (application_id, contact\(postgres: ", id"));

            -- The lists that back ends bring in, and what came of them. `settings`: JSON; see `CarmaImport.Settings`.
            CREATE TABLE carma_import (
                id \(.key),
                app_key \(.bigint) NOT NULL REFERENCES carma_app (id),
                \(uuid: "import_uuid", "NOT NULL UNIQUE"),
                settings text NOT NULL,
                state \(.bigint) NOT NULL DEFAULT 0 CHECK (state BETWEEN 0 AND 3),
                taken_count \(.bigint) NOT NULL DEFAULT 0,
                refused_count \(.bigint) NOT NULL DEFAULT 0,
                reason text,
                created_at_ms \(.bigint) NOT NULL
            ) \(.byID);
            CREATE INDEX carma_import_app ON carma_import (app_key\(postgres: ", id"));
            CREATE INDEX carma_import_created ON carma_import (created_at_ms);
            """)
}
