import BelfryServer
import BelfrySimulators
import Foundation
import Testing

@testable import BelfryService

/// Lines in the audit log from commands on the server's machine.
extension CommandTests {
    @Suite struct AuditedCommandTests {}
}

extension CommandTests.AuditedCommandTests {
    /// Commands that change nothing that a server has. `simulate` has others beneath it.
    private static let reading: Set = [
        "check", "app list", "app show", "platform list", "platform show", "channel list", "channel show", "receipt",
        "tenant list", "admin list", "admin user list", "keys list", "nodes", "backup", "device list", "device show",
        "topic list", "audience count", "audience sample", "audience keys", "segment list", "segment show",
        "template list", "template show", "template preview", "campaign list", "campaign show",
        "topic show", "schedule list", "schedule show", "location list", "location show", "geofence list",
        "geofence show", "user list", "user show", "acrobits reporter list",
        "acrobits app-id list", "acrobits selector", "carma account list", "carma app list", "carma trigger list",
        "genero tokens", "gateway list", "publisher list", "gateway credential list", "audit",
        "webhook list", "webhook deliveries", "webhook event", "webhook feed read",
    ]
    /// They take a second person. `CampaignAPITests` has them.
    private static let approving: Set = ["campaign approve"]
    /// They are servers, and what is changed through them is audited there.
    private static let serving: Set = ["serve", "demo"]

    @Test func `every changing command audits the system user's name`() async throws {
        try await TestInstallation.with { installation in
            let runner = AuditedCommandRunner(installation: installation)
            let all = try await Self.commands(in: installation.scratch)
            try await Self.change(everythingBy: runner)
            let known = Self.reading.union(Self.serving).union(Self.approving).union(runner.done)
            #expect(all.subtracting(known).sorted() == [], "a new command: does it change something?")
            #expect(known.subtracting(all).sorted() == [], "no command any more")
        }
    }

    /// Runs each of the commands that change something, in an order in which they can be.
    private static func change(everythingBy runner: AuditedCommandRunner) async throws {
        let installation = runner.installation
        let tenant: [String: String] = try await runner.run(
            "tenant create", "--name", "Dairy", "--json", leaves: "tenant.create"
        ).decoded()
        let app = try TestInstallation.Created(
            try await runner.run("app create", "--name", "Butcher", "--json", leaves: "app.create"))
        let web = try TestInstallation.CreatedPlatform(
            try await runner.run(
                "platform create", "--json", "--app", app.app_uuid, "--type", "web", "--mode", "production", "--name",
                "Web", leaves: "platform.create")
        ).platform_uuid
        try await runner.run("platform edit", web, "--description", "browsers", leaves: "platform.edit")
        try await runner.run("app edit", app.app_uuid, "--name", "Grocer", leaves: "app.edit")
        try await runner.run("app rotate api-key", app.app_uuid, "--grace", "3600", leaves: "app.replace_api_key")
        let early = try await runner.run(
            "app rotate api-key", app.app_uuid, "--grace", "3600", leaves: "app.replace_api_key")
        #expect(early.err.contains("it is refused from now on"), "\(early)")
        try await runner.run("app rotate shared-secret", app.app_uuid, leaves: "app.replace_shared_secret")
        let list = try installation.scratch.write("{}\n", to: "devices.jsonl")
        try await runner.run(
            "import devices", "--app", app.app_uuid, "--format", "jsonl", list, leaves: "app.import")
        try await importPCF(runner)
        try await runner.run(
            "platform credentials", web, "--credential", "subject=mailto:a@b.example",
            leaves: "platform.replace_credentials")
        try await runner.run("platform test", web, leaves: "platform.test_credentials", endsWell: false)
        try await runner.run("platform resume", web, leaves: "platform.resume")
        let spare = try TestInstallation.CreatedPlatform(
            try await runner.run(
                "platform create", "--json", "--app", app.app_uuid, "--type", "web", "--name", "Spare",
                leaves: "platform.create"))
        try await runner.run("platform delete", spare.platform_uuid, leaves: "platform.delete")
        try await runner.run(
            "platform web", web, "--origin", "https://shop.example", leaves: "platform.set_web_access")
        try await channels(runner)
        try await acrobits(app.app_uuid, platform: web, runner)
        try await carma(app.app_uuid, runner)
        try await gateway(runner)
        try await resources(of: app.app_uuid, runner)
        let push: [String: String] = try await runner.run(
            "push", "--app", app.app_uuid, "--everyone", "--yes", "--body", "Hello", "--json", leaves: "push.create"
        ).decoded()
        try await runner.run("retract", try #require(push["receipt_id"]), leaves: "push.cancel")
        try await runner.run("cancel", try #require(push["receipt_id"]), leaves: "push.cancel")
        try await runner.run("write-off", try #require(push["receipt_id"]), leaves: "push.write_off")
        let key: [String: String] = try await runner.run("admin create", "--json", leaves: "key.create").decoded()
        let keyID = try #require(key["key_id"])
        try await runner.run("admin rotate", keyID, leaves: "key.rotate")
        try await runner.run("admin revoke", keyID, leaves: "key.revoke")
        let again = try await installation.run("admin", "revoke", keyID)
        #expect(again.status == 0 && again.out.hasPrefix("\(keyID) was revoked already, at 2"), "\(again)")
        let whole = try #require(key["key"])
        let revoked = try await installation.run("admin", "rotate", whole)
        #expect(revoked.status != 0 && revoked.err.contains("\(keyID) was revoked at 2"), "\(revoked)")
        #expect(!revoked.err.contains(whole), "a secret is not repeated")
        try await people(runner, tenant: try #require(tenant["tenant_uuid"]))
        try await runner.run("keys add", leaves: "sealing_key.add")
        try await runner.run("keys rotate", leaves: "sealing_key.rotate")
        try await runner.run("keys drop", "1", leaves: "sealing_key.drop")
        try await runner.run("app delete", app.app_uuid, "--force", leaves: "app.delete")
        try await databases(runner, installation.scratch)
    }

    /// The people of the dashboard.
    private static func people(_ runner: AuditedCommandRunner, tenant: String) async throws {
        let password = try runner.installation.scratch.write("correct horse battery\n", to: "password")
        let made: [String: String] = try await runner.run(
            "admin user create", "--email", "Ann@a.example", "--role", "operator", "--password-file", password,
            "--json",
            leaves: "person.create"
        ).decoded()
        #expect(made["email"] == "ann@a.example" && made["role"] == "operator")
        let invited = try await runner.run(
            "admin user create", "--email", "bob@a.example", "--role", "operator", leaves: "person.invite")
        #expect(invited.out.contains("/dashboard/setup?token="))
        let again = try await runner.installation.run(
            "admin", "user", "create", "--email", "ann@a.example", "--role", "operator")
        #expect(again.status != 0 && again.err.contains("belfry admin user reset --email ann@a.example"), "\(again)")
        let last = try await runner.installation.run(
            "admin", "user", "edit", "--email", "ann@a.example", "--role", "sender", "--tenant", tenant)
        #expect(last.status != 0 && last.err.contains("the last operator who may log in"), "\(last)")
        try await runner.run(
            "admin user create", "--email", "carl@a.example", "--role", "operator", "--password-file", password,
            leaves: "person.create")
        let edited: [String: String] = try await runner.run(
            "admin user edit", "--email", "carl@a.example", "--role", "sender", "--tenant", tenant, "--json",
            leaves: "person.set_role"
        ).decoded()
        #expect(edited == ["email": "carl@a.example", "role": "sender"])
        try await runner.run("admin user reset", "--email", "ann@a.example", leaves: "person.make_password_link")
        try await runner.run(
            "admin user reset", "--email", "ann@a.example", "--password-file", password, leaves: "person.set_password")
        let invitedOnly = try await runner.installation.run("admin", "user", "disable", "--email", "bob@a.example")
        #expect(
            invitedOnly.status != 0 && invitedOnly.err.contains("`belfry admin user withdraw --email bob@a.example`"),
            "\(invitedOnly)")
        let lastOperator = try await runner.installation.run("admin", "user", "disable", "--email", "ann@a.example")
        #expect(
            lastOperator.status != 0 && lastOperator.err.contains("the last operator who may log in"), "\(lastOperator)"
        )
        try await runner.run("admin user disable", "--email", "ann@a.example", "--force", leaves: "person.disable")
        let listed = try await runner.installation.run("admin", "user", "list")
        #expect(listed.out.contains("ann@a.example") && listed.out.contains("disabled"), "\(listed)")
        #expect(listed.out.contains("bob@a.example") && listed.out.contains("invited"), "\(listed)")
        try await runner.run("admin user withdraw", "--email", "bob@a.example", leaves: "person.withdraw_link")
        let none = try await runner.installation.run("admin", "user", "withdraw", "--email", "bob@a.example")
        #expect(none.status != 0 && none.err.contains("bob@a.example"), "\(none)")
        try await runner.run("admin user enable", "--email", "ann@a.example", leaves: "person.enable")
    }

    private static func webhooks(of app: String, _ runner: AuditedCommandRunner) async throws {
        try await runner.run(
            "webhook create", "crm", "--app", app, "--url", "https://crm.invalid/", "--kinds", "*",
            leaves: "webhook.create")
        try await runner.run("webhook change", "crm", "--app", app, "--name", "all", leaves: "webhook.update")
        try await runner.run("webhook rotate", "all", "--app", app, "--overlap", "0", leaves: "webhook.rotate")
        try await runner.run("webhook test", "all", "--app", app, leaves: "webhook.test", endsWell: false)
        let deliveries = try await runner.installation.run("webhook", "deliveries", "all", "--app", app)
        #expect(deliveries.out.contains("webhook.test"), "\(deliveries)")
        try await runner.run("webhook pause", "all", "--app", app, leaves: "webhook.pause")
        let listed = try await runner.installation.run("webhook", "list", "--app", app)
        #expect(listed.out.contains("crm.invalid") && listed.out.contains("paused"), "\(listed)")
        try await runner.run("webhook resume", "all", "--app", app, leaves: "webhook.resume")
        try await runner.run(
            "webhook replay", "all", "--app", app, "--since", "2001-01-01T00:00:00Z", leaves: "webhook.replay")
        try await runner.run("webhook delete", "all", "--app", app, leaves: "webhook.delete")
        try await runner.run("webhook feed set", "--app", app, "--kinds", "device.gone", leaves: "feed.update")
        let feed = try await runner.installation.run("webhook", "feed", "read", "--app", app)
        #expect(feed.status == 0 && feed.out.isEmpty, "\(feed)")
        let installation = runner.installation
        let left = try await Program.run(
            ["webhook", "feed", "read", "--follow", "--app", app, "--data-directory", installation.data],
            in: installation.scratch, behind: ["bash", "-o", "pipefail", "-c", #"timeout 60 "$0" "$@" | true"#])
        #expect(left.status == 0, "it ends with its reader: \(left)")
        let none = try await runner.installation.run("webhook", "test", "all", "--app", app)
        #expect(none.status != 0 && none.err.contains("there is no webhook all"), "\(none)")
    }

    /// Makes, changes and deletes the resources of an application.
    private static func resources(of app: String, _ runner: AuditedCommandRunner) async throws {
        func id(_ field: String, _ ended: Program.Ended) throws -> String {
            let made = try JSONValue(json: ended.out.utf8)
            switch made[field] {
            case .string(let text)?: return text
            case .integer(let number)?: return String(number)
            default: throw StoreError.unknown("\(field) in \(ended.out)")
            }
        }
        let hook = try TestInstallation.CreatedPlatform(
            try await runner.run(
                "platform create", "--json", "--app", app, "--type", "android-baidu", "--mode", "production", "--name",
                "Hook", leaves: "platform.create"))
        let device = try id(
            "device_uuid",
            try await runner.run(
                "device create", "--app", app, "--platform", hook.platform_uuid, "--token", "t1", "--topic", "news",
                "--json", leaves: "device.create"))
        try await runner.run("device edit", device, "--app", app, "--user", "ada", leaves: "device.update")
        let shown = try await runner.installation.run("device", "list", "--app", app, "--topic", "NEWS")
        #expect(shown.out.contains(device) && shown.out.contains("ada"), "\(shown)")
        let plan =
            #"{"message":{"body":"Hi"},"target":{"everyone":true},"test_target":{"everyone":true},"send_at":"2100-01-01T00:00:00Z"}"#
        try await runner.run("campaign create", "spring", "--plan", plan, "--app", app, leaves: "campaign.create")
        try await runner.run("campaign edit", "spring", "--title", "Kept", "--app", app, leaves: "campaign.update")
        try await runner.run(
            "campaign edit", "spring", "--body", "Ho", "--label", "sale", "--app", app, leaves: "campaign.update")
        let edited = try await runner.installation.run("campaign", "show", "spring", "--app", app, "--json")
        #expect(edited.out.contains("Kept") && edited.out.contains("Ho"), "\(edited)")
        try await runner.run("campaign test", "spring", "--app", app, leaves: "push.create")
        let alone = try await runner.installation.run("campaign", "approve", "spring", "--app", app)
        #expect(alone.status != 0 && alone.err.contains("somebody else than local:"), "\(alone)")
        try await runner.run("campaign start", "spring", "--app", app, leaves: "campaign.start")
        try await runner.run("campaign stop", "spring", "--app", app, leaves: "campaign.stop")
        try await runner.run("campaign delete", "spring", "--app", app, leaves: "campaign.delete")
        try await runner.run(
            "user set", "emma", "--app", app, "--language", "de-AT", "--attribute", "plan=gold", "--attribute",
            "visits=3", leaves: "user.set")
        try await runner.run("user merge", "ada", "--app", app, "--into", "emma", leaves: "user.merge")
        let emma = try await runner.installation.run("user", "show", "emma", "--app", app, "--json")
        #expect(emma.out.contains(device) && emma.out.contains("gold"), "\(emma)")
        try await runner.run("user erase", "emma", "--app", app, leaves: "user.erase")
        try await runner.run("genero enable", "--app", app, leaves: "open_endpoint.create")
        try await runner.run("genero disable", "--app", app, leaves: "open_endpoint.delete")
        let gateway = try JSONValue(
            json: try await runner.run(
                "gateway open", "mattermost", "--app", app, "--json", leaves: "open_endpoint.create"
            ).out.utf8)
        #expect(gateway["path"]?.stringValue?.hasPrefix("/mattermost/") == true, "\(gateway)")
        let gateways = try await runner.installation.run("gateway", "list", "--app", app)
        #expect(gateways.out.contains("mattermost"), "\(gateways)")
        try await runner.run(
            "gateway close", gateway["endpoint_id"]?.flat ?? "", "--app", app, leaves: "open_endpoint.delete")
        let publisher = try id(
            "endpoint_id",
            try await runner.run(
                "publisher enable", "ntfy", "--app", app, "--json", leaves: "open_endpoint.create"))
        try await runner.run("publisher disable", publisher, "--app", app, leaves: "open_endpoint.delete")
        try await webhooks(of: app, runner)
        try await runner.run("device delete", device, "--app", app, leaves: "device.deactivate")
        try await runner.run("device erase", device, "--app", app, leaves: "device.erase")

        try await runner.run("segment create", "loyal", "seen:P7D", "--app", app, leaves: "segment.create")
        try await runner.run("segment edit", "loyal", "seen:P8D", "--app", app, leaves: "segment.update")
        try await runner.run("segment delete", "loyal", "--app", app, leaves: "segment.delete")
        try await runner.run("template create", "welcome", "--body", "Hi", "--app", app, leaves: "template.create")
        try await runner.run("template edit", "welcome", "--body", "Hello", "--app", app, leaves: "template.update")
        try await runner.run("template delete", "welcome", "--app", app, leaves: "template.delete")
        try await runner.run("topic create", "Größe & mehr", "--app", app, leaves: "topic.create")
        try await runner.run(
            "topic edit", "Größe & mehr", "--app", app, "--expires-at", "2090-01-31T08:30:00Z", leaves: "topic.update")
        let topic = try await runner.installation.run("topic", "show", "größe & mehr", "--app", app)
        #expect(topic.out.contains("2090-01-31T08:30:00"), "\(topic)")
        try await runner.run("topic delete", "Größe & mehr", "--app", app, leaves: "topic.delete")

        let schedule = try id(
            "schedule_id",
            try await runner.run(
                "schedule create", "--app", app, "--message", #"{"title":"Kept","body":"Later"}"#, "--everyone",
                "--send-at", "2090-01-31T08:30:00Z", "--json", leaves: "schedule.create"))
        try await runner.run("schedule edit", schedule, "--app", app, "--body", "Latest", leaves: "schedule.update")
        let waiting = try await runner.installation.run("schedule", "list", "--app", app, "--json")
        #expect(waiting.out.contains("Latest"), "\(waiting)")
        let found = try await runner.installation.run("schedule", "show", schedule)
        #expect(found.status == 0 && found.out.contains("Latest") && found.out.contains("Kept"), "\(found)")
        for command in ["cancel", "receipt"] {
            let other = try await runner.installation.run(command, schedule)
            #expect(other.status != 0 && other.err.contains("belfry schedule cancel \(schedule)"), "\(other)")
        }
        try await runner.run("schedule cancel", schedule, leaves: "schedule.cancel")
        let weekly = try id(
            "schedule_id",
            try await runner.run(
                "schedule create", "--app", app, "--body", "Weekly", "--everyone", "--every", "MO,TH", "--start",
                "2090-01-02T09:00", "--time-zone", "Europe/Vienna", "--json", leaves: "schedule.create"))
        try await runner.run("schedule pause", weekly, leaves: "schedule.pause")
        try await runner.run("schedule resume", weekly, leaves: "schedule.resume")
        try await runner.run("schedule skip-next", weekly, leaves: "schedule.skip_next")
        let recurring = try await runner.installation.run("schedule", "show", weekly)
        #expect(
            recurring.out.contains("every Monday and Thursday at 09:00, Europe/Vienna, except on 2090-01-02"),
            "\(recurring)")
        try await runner.run("schedule cancel", weekly, leaves: "schedule.cancel")
        let local = try id(
            "schedule_id",
            try await runner.run(
                "push", "--app", app, "--body", "Weekly", "--everyone", "--yes", "--every", "TU", "--start",
                "2090-01-03T09:00", "--local", "--past", "send", "--json", leaves: "schedule.create"))
        let ofEach = try await runner.installation.run("schedule", "show", local)
        #expect(ofEach.out.contains("every Tuesday at 09:00 of each recipient, UTC where none"), "\(ofEach)")
        #expect(ofEach.out.contains("2090-01-03T09:00") && ofEach.out.contains("send"), "\(ofEach)")
        try await runner.run(
            "schedule edit", local, "--every", "day", "--start", "2090-01-03T09:00", "--local", "--time-zone",
            "Europe/Vienna", leaves: "schedule.update")
        for wrong in [["--local"], ["--past", "send"], ["--every", "day", "--start", "2090-01-03T09:00"]] {
            let refused = try await runner.installation.run(
                ["push", "--app", app, "--body", "x", "--everyone", "--yes"] + wrong)
            #expect(refused.status != 0 && refused.err.contains("--local"), "\(refused)")
        }
        let unknown = try await runner.installation.run("schedule", "cancel", "0123456789abcdef")
        #expect(unknown.status != 0 && unknown.err.contains("0123456789abcdef"), "\(unknown)")

        let place = ["--name", "shop", "--latitude", "-33.5", "--longitude", "151.2", "--radius", "100"]
        let location = try id(
            "location_id",
            try await runner.run(
                "location create", arguments: ["--app", app, "--json"] + place, leaves: "location.create"))
        try await runner.run("location edit", location, "--app", app, "--radius", "50", leaves: "location.update")
        let geofence = try id(
            "geofence_id",
            try await runner.run(
                "geofence create", "--app", app, "--location", location, "--trigger", "enter", "--data",
                #"{"ios":{"alertBody":"Hi"}}"#, "--expires-at", "2090-01-31T08:30:00Z", "--json",
                leaves: "geofence.create"))
        try await runner.run("geofence edit", geofence, "--app", app, "--trigger", "exit", leaves: "geofence.update")
        try await runner.run("geofence delete", geofence, "--app", app, leaves: "geofence.delete")
        try await runner.run("location delete", location, "--app", app, leaves: "location.delete")
    }

    /// All that it makes has its line, the last of which is of the geofences.
    private static func importPCF(_ runner: AuditedCommandRunner) async throws {
        let installation = runner.installation
        try await OldPCFServer.with(devices: 0) { old in
            let key = try installation.scratch.write(OldPCFServer.apiKey, to: "old-key")
            for arguments in [
                ["app", "create", "--name", "Old", "--uuid", OldPCFServer.application, "--api-key-file", key],
                [
                    "import", "pcf", "--from", old.url, "--app-uuid", OldPCFServer.application, "--api-key-file", key,
                    "--verdicts", installation.scratch.file("verdicts.csv"),
                ],
            ] {
                let ended = try await installation.run(arguments)
                #expect(ended.status == 0, "\(ended.err)")
            }
            try await runner.expect("geofence.import", by: "import pcf", in: installation.data)
            let actions = try await runner.lines(in: installation.data).map(\.action)
            #expect(actions.contains("app.import"))
        }
    }

    private static func gateway(_ runner: AuditedCommandRunner) async throws {
        let platform = runner.installation.platform
        let word = try runner.installation.scratch.write("correct horse", to: "word")
        try await runner.run(
            "gateway credential create", "--platform", platform, "--out", runner.installation.scratch.file("a.p12"),
            "--passphrase-file", word, leaves: "gateway_credential.create")
        try await runner.run(
            "gateway credential delete", "1", "--platform", platform, leaves: "gateway_credential.delete")
    }

    private static func channels(_ runner: AuditedCommandRunner) async throws {
        let key = APNsSimulator.IssuedKey()
        var management = APNsChannelsConfiguration()
        management.keys = [key.known]
        let apple = try await APNsChannelsSimulator.start(management)
        let result = await Result {
            let platform = try await CommandTests.ChannelCommandTests.platform(key, apple, of: runner.installation)
            let channel: [String: String] = try await runner.run(
                "channel create", "--platform", platform, "--storage", "latest", "--json", leaves: "channel.create"
            ).decoded()
            try await runner.run(
                "channel delete", try #require(channel["channel_id"]), "--platform", platform, leaves: "channel.delete")
        }
        try await apple.shutdown()
        try result.get()
    }

    private static func carma(_ app: String, _ runner: AuditedCommandRunner) async throws {
        let scratch = runner.installation.scratch
        func id(_ field: String, _ ended: Program.Ended) throws -> String {
            guard case .integer(let number)? = try JSONValue(json: ended.out.utf8)[field] else {
                throw StoreError.unknown("\(field) in \(ended.out)")
            }
            return String(number)
        }
        let password = try scratch.write("correct horse\n", to: "carma-password")
        let account = try id(
            "account_id",
            try await runner.run(
                "carma account create", "--customer-id", "42", "--user", "anna", "--password-file", password, "--json",
                leaves: "carma_account.create"))
        try await runner.run("carma account rotate", account, leaves: "carma_account.rotate")
        let carmaApp = try id(
            "carma_app_id",
            try await runner.run(
                "carma app create", "--customer-id", "42", "--app-id", "org.example", "--app", app, "--json",
                leaves: "carma_app.create"))
        let template = try scratch.write(#"{"name":"t","languages":{"en":{"alert":"Hi"}}}"#, to: "trigger.json")
        let trigger = try id(
            "trigger_id",
            try await runner.run(
                "carma trigger create", "--customer-id", "42", "--app-id", "org.example", "--file", template, "--json",
                leaves: "carma_trigger.create"))
        for (command, word) in [("account", "anna"), ("app", "org.example"), ("trigger", "org.example")] {
            let listed = try await runner.installation.run("carma", command, "list")
            #expect(listed.out.contains(word), "\(listed)")
        }
        try await runner.run("carma trigger delete", trigger, leaves: "carma_trigger.delete")
        try await runner.run("carma app delete", carmaApp, leaves: "carma_app.delete")
        try await runner.run("carma account delete", account, leaves: "carma_account.delete")
    }

    private static func acrobits(_ app: String, platform: String, _ runner: AuditedCommandRunner) async throws {
        try await runner.run(
            "acrobits app-id add", "--app", app, "--app-id", "org.example.phone", "--platform", platform, "--payload",
            #"{"*":{"v":"%verb%"}}"#, leaves: "acrobits_app_id.set")
        try await runner.run(
            "acrobits app-id remove", "org.example.phone", "--app", app, leaves: "acrobits_app_id.delete")
        func id(_ ended: Program.Ended) throws -> String {
            guard case .integer(let number)? = try JSONValue(json: ended.out.utf8)["endpoint_id"] else {
                throw StoreError.unknown("endpoint_id in \(ended.out)")
            }
            return String(number)
        }
        let reporter = try id(
            try await runner.run(
                "acrobits reporter create", "--app", app, "--digest", "--template", "?t=%pushToken%", "--json",
                leaves: "open_endpoint.create"))
        let mediator = try id(
            try await runner.run(
                "acrobits mediator enable", "--app", app, "--allow", "10.0.0.1, 192.0.2.0/24", "--json",
                leaves: "open_endpoint.create"))
        let listed = try await runner.installation.run("acrobits", "reporter", "list", "--app", app)
        #expect(listed.out.contains("acrobits-mediator") && listed.out.contains("192.0.2.0/24"), "\(listed)")
        try await runner.run("acrobits reporter delete", reporter, "--app", app, leaves: "open_endpoint.delete")
        try await runner.run("acrobits mediator disable", mediator, "--app", app, leaves: "open_endpoint.delete")
    }

    /// Runs the commands that make a database.
    private static func databases(_ runner: AuditedCommandRunner, _ scratch: Scratch) async throws {
        let copy = scratch.file("copy")
        #expect(try await runner.installation.run("backup", "--to", copy).status == 0)
        for (command, action, arguments) in [
            ("migrate", "database.migrate", []), ("restore", "database.restore", ["--from", copy]),
        ] {
            let directory = scratch.file(command)
            let ended = try await Program.run([command, "--data-directory", directory] + arguments, in: scratch)
            #expect(ended.status == 0, "\(command): \(ended.err)")
            try await runner.expect(action, by: command, in: directory)
        }
        let again = try await Program.run(["migrate", "--data-directory", scratch.file("migrate")], in: scratch)
        #expect(again.status == 0)
        #expect(try await runner.lines(in: scratch.file("migrate")).count == 1, "nothing was changed, nothing is told")

        let directory = scratch.file("moved")
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        try FileManager.default.copyItem(
            atPath: runner.installation.data + "/key-ring", toPath: directory + "/key-ring")
        let ended = try await Program.run(
            [
                "database", "copy", "--from", "sqlite:\(runner.installation.data)/belfry.sqlite", "--to",
                "sqlite:\(directory)/belfry.sqlite",
            ], in: scratch)
        #expect(ended.status == 0, "\(ended.err)")
        try await runner.expect("database.copy", by: "database copy", in: directory)
        let reopened = try await Program.run(
            ["database", "reopen", "sqlite:\(runner.installation.data)/belfry.sqlite"], in: scratch)
        #expect(reopened.status == 0, "\(reopened.err)")
        try await runner.expect("database.reopen", by: "database reopen", in: runner.installation.data)
    }

    /// Every command that has none beneath it, as the program itself lists them; without those of `simulate` and `help`.
    private static func commands(in scratch: Scratch) async throws -> Set<String> {
        struct Command: Decodable {
            let commandName: String
            let subcommands: [Command]?

            func leaves(below path: String) -> [String] {
                let beneath = (subcommands ?? []).filter { $0.commandName != "help" && $0.commandName != "simulate" }
                guard !beneath.isEmpty else { return [path] }
                return beneath.flatMap { $0.leaves(below: path.isEmpty ? $0.commandName : "\(path) \($0.commandName)") }
            }
        }
        struct Help: Decodable { let command: Command }
        let help: Help = try await Program.run(["--experimental-dump-help"], in: scratch).decoded()
        return Set(help.command.leaves(below: ""))
    }
}

/// Runs commands one after the other and looks at the line that each leaves.
private final class AuditedCommandRunner {
    let installation: TestInstallation
    private(set) var done: Set<String> = []

    init(installation: TestInstallation) { self.installation = installation }

    /// Runs a command and expects its audit line.
    @discardableResult
    func run(
        _ command: String, _ arguments: String..., leaves action: String, endsWell: Bool = true
    ) async throws -> Program.Ended {
        try await run(command, arguments: arguments, leaves: action, endsWell: endsWell)
    }

    @discardableResult
    func run(
        _ command: String, arguments: [String], leaves action: String, endsWell: Bool = true
    ) async throws -> Program.Ended {
        let before = try await lines(in: installation.data).count
        let ended = try await installation.run(command.split(separator: " ").map(String.init) + arguments)
        if endsWell { #expect(ended.status == 0, "\(command): \(ended.err)") }
        #expect(try await lines(in: installation.data).count == before + 1, "\(command)")
        try await expect(action, by: command, in: installation.data)
        return ended
    }

    func expect(_ action: String, by command: String, in directory: String) async throws {
        let line = try #require(try await lines(in: directory).first, "\(command)")
        #expect(line.action == action && line.keyID == nil && line.address == "local:\(NSUserName())", "\(line)")
        done.insert(command)
    }

    /// The newest first.
    func lines(in directory: String) async throws -> [AuditedChange] {
        try await ServerResources.with(["data.directory": directory]) { resources in
            try await resources.store.auditLog(AuditQuery(bounds: .everything, limit: 2_000)).map(\.change)
        }
    }
}
