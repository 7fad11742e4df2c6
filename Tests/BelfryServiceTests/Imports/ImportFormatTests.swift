import BelfryService
import BelfryTesting
import Foundation
import Testing

/// One list of each service, written by hand from its documentation, imported and compared device by device.
@Suite struct ImportFormatTests {
    private static let apns = String(repeating: "0a", count: 32)
    private static let sandbox = String(repeating: "0b", count: 32)
    /// Keys of the example of RFC 8291, Appendix A.
    private static let p256dh =
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
    private static let auth = "BTBZMqHH6r4Tts7J_aSIgg"

    /// A device as it has to be in the end.
    private struct Expected: Equatable {
        var kind: PlatformKind
        var mode = Platform.Mode.production
        var uuid: String?
        var token: String
        var topics: [String] = []
        var user: String?
        var alias: String?
        var os: String?
        var osVersion: String?
        var model: String?
        var isActive = true
        var lastSeen: String?
    }

    private struct Imported {
        let devices: [Expected]
        let refused: [Int: String]
    }

    /// Imports a list into an application with a platform of every kind, and two of Apple's.
    private static func imported(_ text: String, as format: ImportFormat) async throws -> Imported {
        let store = try SQLiteStore.temporary(clock: ManualClock())
        let application = try await store.create(.numbered(1))
        var platforms: [Platform] = []
        for (number, kind) in PlatformKind.allCases.enumerated() {
            platforms.append(try await store.create(.numbered(number, of: application.key, kind: kind)))
        }
        let sandbox = NewPlatform(
            uuid: UUID(words: 9, 9), applicationKey: application.key, kind: .ios, mode: .development, name: "sandbox",
            secretHash: [1], credentials: Sealed(bytes: [1]))
        platforms.append(try await store.create(sandbox))
        var reader = ImportReader(format)
        let rows = try reader.read(Array(text.utf8)) + reader.finish()
        let service = ImportService(store: store, platforms: platforms)
        let verdicts = try await service.run(rows)
        #expect(verdicts.map(\.row) == Array(1...rows.count))
        #expect(try await service.run(rows).allSatisfy { $0.outcome == .duplicate || $0.outcome.name == "refused" })
        var refused: [Int: String] = [:]
        for verdict in verdicts { if case .refused(let why) = verdict.outcome { refused[verdict.row] = why } }
        return Imported(devices: try await devices(of: platforms, in: store), refused: refused)
    }

    private static func devices(of platforms: [Platform], in store: SQLiteStore) async throws -> [Expected] {
        try await store.unseenDevices(on: platforms.map(\.key), after: nil, limit: 100).map { device in
            let platform = try #require(platforms.first { $0.key == device.platformKey })
            return Expected(
                kind: platform.kind, mode: platform.mode, uuid: device.importMark?.uuid?.lowercased,
                token: device.token?.text(for: platform.kind) ?? "", topics: device.topics, user: device.customUserID,
                alias: device.about.alias, os: device.about.os, osVersion: device.about.osVersion,
                model: device.about.model, isActive: device.isActive,
                lastSeen: device.registeredAt == .zero ? nil : device.registeredAt.text)
        }.sorted { $0.token < $1.token }
    }

    /// Source: documentation of PCF Push 1.6, "List registrations"; wire/pcf.md §4.4.
    @Test func `pages of PCF`() async throws {
        let text = """
            {"registrations":[{"os":"ios","os_version":"9.2","device_model":"iPhone 7","device_manufacturer":"Apple",
            "device_alias":"Ada's","device_uuid":"4f7b1c1e-9a0f-4a6e-8e35-0d8e0f4e8a11","registration_token":"APNS",
            "active":true,"tags":[{"text":"News"}],"custom_user_id":"ada"},
            {"os":"android","device_uuid":"4f7b1c1e-9a0f-4a6e-8e35-0d8e0f4e8a12","registration_token":"gcm-1","active":false},
            {"os":"android-fcm","device_uuid":"not-a-uuid","registration_token":"fcm-1","active":"true"},
            {"os":"ios","device_uuid":"4f7b1c1e-9a0f-4a6e-8e35-0d8e0f4e8a13","registration_token":"xyz"},
            {"os":"ios","device_uuid":"4f7b1c1e-9a0f-4a6e-8e35-0d8e0f4e8a14"}],
            "totalRegistrations":5,"totalPages":1,"page":1,"size":50}
            """.replacing("APNS", with: Self.apns.uppercased())
        // Of the two platforms of iOS none is meant by the list, so the list is split by platform.
        let both = try await Self.imported(text, as: .pcf)
        #expect(both.refused.keys.sorted() == [1, 4, 5])
        #expect(
            both.devices == [
                Expected(kind: .androidFCM, token: "fcm-1", os: "android-fcm"),
                Expected(
                    kind: .android, uuid: "4f7b1c1e-9a0f-4a6e-8e35-0d8e0f4e8a12", token: "gcm-1", os: "android",
                    isActive: false),
            ])
    }

    /// Source: documentation.onesignal.com, "Export subscriptions CSV": default columns and `extra_fields`.
    @Test func `a row is read as it was written`() throws {
        var row = ImportRow()
        (row.kinds, row.mode, row.token, row.id) = ([.ios, .androidFCM], .production, "ab12", "an id")
        row.about = Device.About(os: "ios", osVersion: "18.1", model: "iPhone", manufacturer: "Apple", alias: "Emma")
        (row.customUserID, row.topics, row.isActive) = ("emma", ["news", "town hall"], false)
        row.lastSeenAt = Instant(milliseconds: 1_700_000_000_000)
        row.note(language: "de-AT", timeZone: "Europe/Vienna")
        row.note(badge: 7)
        row.note(
            appVersion: "5.10", country: "AT",
            attributes: .object(["plan": .string("pro"), "age": .integer(18), "teams": .strings(["a", "b"])]))
        var reader = ImportReader(.jsonl)
        let rows = try reader.read(row.json.encoded) + reader.finish()
        #expect(try rows.map { try $0.outcome.get() } == [row])
    }

    @Test func `the export of OneSignal`() async throws {
        let head =
            "id,identifier,session_count,language,timezone,game_version,device_os,device_type,device_model,ad_id,"
            + "tags,last_active,playtime,amount_spent,created_at,invalid_identifier,badge_count,external_user_id,"
            + "notification_types,web_auth,web_p256\n"
        let text =
            head
                + """
                b2f7f966-d8cc-11e4-bed1-df8f05be55ba,fcm-1,3,en,-28800,1.0,7.1.2,1,Nexus 5X,,"{""City"":""Rome"",""age"":""7""}",2019-06-11 17:46:59,10,0.0,2018-06-11 17:46:59,f,0,ada,1,,
                b2f7f966-d8cc-11e4-bed1-df8f05be55bb,https://push.example.org/1,1,en,0,,,5,Chrome,,{},2019-06-11 17:46:59,0,0,2018-06-11 17:46:59,t,0,,,AUTH,P256
                b2f7f966-d8cc-11e4-bed1-df8f05be55bc,amzn-1,1,en,0,,,2,,,,,,,,f,0,,-2,,
                b2f7f966-d8cc-11e4-bed1-df8f05be55bd,ada@example.com,1,en,0,,,11,,,,,,,,f,0,,,,
                b2f7f966-d8cc-11e4-bed1-df8f05be55be,fcm-2,1,en,0,,,1,,,[1],,,,,f,0,,,,
                b2f7f966-d8cc-11e4-bed1-df8f05be55bf,,1,en,0,,,1,,,,,,,,f,0,,,,
                """.replacing("AUTH", with: Self.auth).replacing("P256", with: Self.p256dh)
        let imported = try await Self.imported(text, as: .onesignal)
        #expect(
            imported.refused == [
                4: "device_type is '11', which no push provider delivers to", 5: "tags has to be a JSON object",
                6: "identifier is missing",
            ])
        #expect(
            imported.devices
                == [
                    Expected(
                        kind: .amazon, uuid: "b2f7f966-d8cc-11e4-bed1-df8f05be55bc", token: "amzn-1", isActive: false),
                    Expected(
                        kind: .androidFCM, uuid: "b2f7f966-d8cc-11e4-bed1-df8f05be55ba", token: "fcm-1",
                        topics: ["age:7", "city:rome"], user: "ada", osVersion: "7.1.2", model: "Nexus 5X",
                        lastSeen: "2019-06-11T17:46:59.000Z"),
                    Expected(
                        kind: .web, uuid: "b2f7f966-d8cc-11e4-bed1-df8f05be55bb",
                        token:
                            #"{"endpoint":"https://push.example.org/1","keys":{"auth":"\#(Self.auth)","p256dh":"\#(Self.p256dh)"}}"#,
                        model: "Chrome", isActive: false, lastSeen: "2019-06-11T17:46:59.000Z"),
                ].sorted { $0.token < $1.token })
    }

    private static let details: [(ImportFormat, String, DeviceDetail.Change)] = [
        (
            .onesignal,
            "id,identifier,device_type,language,timezone,badge_count\nx,fcm-1,1,de,-28800,3\n",
            DeviceDetail.Change(badge: 3, language: "de")
        ),
        (
            .onesignal, "id,identifier,device_type,timezone_id,badge_count\nx,fcm-1,1,Europe/Vienna,0\n",
            DeviceDetail.Change(timeZone: "Europe/Vienna")
        ),
        (
            .parse,
            #"{"results":[{"deviceType":"ios","deviceToken":"ab","badge":7,"localeIdentifier":"de-AT","timeZone":"Europe/Vienna"}]}"#,
            DeviceDetail.Change(badge: 7, language: "de-AT", timeZone: "Europe/Vienna")
        ),
        (
            .airship,
            #"{"channels":[{"channel_id":"x","device_type":"ios","push_address":"AB","ios":{"badge":2,"tz":"America/Los_Angeles"}}]}"#,
            DeviceDetail.Change(badge: 2, timeZone: "America/Los_Angeles")
        ),
        (
            .airship,
            #"{"channels":[{"channel_id":"x","device_type":"android","push_address":"a","device_attributes":{"ua_language":"de","ua_country":"Unknown","ua_local_tz":"Europe/Vienna"}}]}"#,
            DeviceDetail.Change(language: "de", timeZone: "Europe/Vienna")
        ),
        (
            .jsonl, #"{"registration_token":"ab","type":"ios","language":"sv","time_zone":"Asia/Tokyo","badge":5}"#,
            DeviceDetail.Change(badge: 5, language: "sv", timeZone: "Asia/Tokyo")
        ),
        (
            .csv, "registration_token,type,language,badge\nab,ios,no language,\n",
            DeviceDetail.Change()
        ),
    ]

    @Test(arguments: details.indices)
    func `a list may set badge, language and time zone`(index: Int) throws {
        let (format, text, detail) = Self.details[index]
        var reader = ImportReader(format)
        let rows = try reader.read(Array(text.utf8)) + reader.finish()
        #expect(try rows.map { try $0.outcome.get().detail } == [detail])
    }

    /// Source: Amazon SNS API reference, `ListEndpointsByPlatformApplication`.
    @Test func `the endpoints of SNS`() async throws {
        let text = """
            {"Endpoints":[
            {"EndpointArn":"arn:aws:sns:us-west-2:123456789012:endpoint/APNS/app/5e3e9847-3183-3f18-a7e8-671c3a57d4b3",
             "Attributes":{"Enabled":"true","CustomUserData":"Ada's","Token":"APNS"}},
            {"EndpointArn":"arn:aws:sns:us-west-2:123456789012:endpoint/APNS_SANDBOX/app/5e3e9847-3183-3f18-a7e8-671c3a57d4b4",
             "Attributes":{"Enabled":"false","Token":"SANDBOX"}},
            {"EndpointArn":"arn:aws:sns:us-west-2:123456789012:endpoint/GCM/app/5e3e9847-3183-3f18-a7e8-671c3a57d4b5",
             "Attributes":{"Enabled":"true","Token":"fcm-1"}},
            {"EndpointArn":"arn:aws:sns:us-west-2:123456789012:app/GCM/app","Attributes":{"Token":"x"}},
            {"EndpointArn":"arn:aws:sns:us-west-2:123456789012:endpoint/GCM/app/1","Attributes":{"Enabled":"true"}}],
            "NextToken":"abc"}
            """.replacing("\"APNS\"}", with: "\"\(Self.apns)\"}").replacing("\"SANDBOX\"", with: "\"\(Self.sandbox)\"")
        let imported = try await Self.imported(text, as: .sns)
        #expect(
            imported.refused == [
                4: "EndpointArn has to end with endpoint/SERVICE/APPLICATION/UUID", 5: "token is missing",
            ])
        #expect(
            imported.devices == [
                Expected(
                    kind: .ios, uuid: "5e3e9847-3183-3f18-a7e8-671c3a57d4b3", token: Self.apns, alias: "Ada's"),
                Expected(
                    kind: .ios, mode: .development, uuid: "5e3e9847-3183-3f18-a7e8-671c3a57d4b4", token: Self.sandbox,
                    isActive: false),
                Expected(kind: .androidFCM, uuid: "5e3e9847-3183-3f18-a7e8-671c3a57d4b5", token: "fcm-1"),
            ])
    }

    /// Source: Amazon Pinpoint developer guide, "Exporting endpoints", and the example of `EndpointResponse`.
    @Test func `the export of Pinpoint`() async throws {
        let text = """
            {"Id":"5e3e9847-3183-3f18-a7e8-671c3a57d4b3","ChannelType":"GCM","Address":"fcm-1","EndpointStatus":"ACTIVE","OptOut":"NONE","EffectiveDate":"2018-05-07T19:03:29.963Z","Demographic":{"Make":"LGE","Model":"Nexus","Platform":"android","PlatformVersion":"7.1"},"Attributes":{"Interests":["Music","Travel"]},"User":{"UserId":"ada"}}
            {"Id":"example_endpoint","ChannelType":"APNS_SANDBOX","Address":"SANDBOX","EndpointStatus":"ACTIVE","OptOut":"ALL"}

            {"Id":"x","ChannelType":"EMAIL","Address":"ada@example.com"}
            {"Id":"y","ChannelType":"GCM","Address":"fcm-2","Attributes":[1]}
            not JSON
            """.replacing("SANDBOX\",\"EndpointStatus", with: "\(Self.sandbox)\",\"EndpointStatus")
        let imported = try await Self.imported(text, as: .pinpoint)
        #expect(imported.refused.keys.sorted() == [3, 4, 5])
        #expect(imported.refused[3] == "ChannelType is 'EMAIL', which no push provider delivers to")
        #expect(
            imported.devices == [
                Expected(kind: .ios, mode: .development, token: Self.sandbox, isActive: false),
                Expected(
                    kind: .androidFCM, uuid: "5e3e9847-3183-3f18-a7e8-671c3a57d4b3", token: "fcm-1",
                    topics: ["interests:music", "interests:travel"], user: "ada", os: "android", osVersion: "7.1",
                    model: "Nexus", lastSeen: "2018-05-07T19:03:29.963Z"),
            ])
    }

    /// Source: docs.parseplatform.org, REST API guide, "Installations".
    @Test func `the installations of Parse`() async throws {
        let text = """
            {"results":[
            {"objectId":"mrmBZvsErB","deviceType":"android","pushType":"gcm","deviceToken":"fcm-1","GCMSenderId":"56712320625545",
             "installationId":"5e3e9847-3183-3f18-a7e8-671c3a57d4b3","channels":["","Giants"],"appName":"A",
             "createdAt":"2012-04-28T17:41:09.106Z","updatedAt":"2012-04-28T17:41:09.106Z",
             "user":{"__type":"Pointer","className":"_User","objectId":"ada"}},
            {"deviceType":"winrt","deviceToken":"https://db3.notify.windows.com/?token=a","channels":null,
             "updatedAt":{"__type":"Date","iso":"2012-04-28T17:41:09.106Z"}},
            {"deviceType":"embedded","deviceToken":"x"},
            {"deviceType":"android","channels":"Giants","deviceToken":"y"},
            {"deviceType":"android"}]}
            """
        let imported = try await Self.imported(text, as: .parse)
        #expect(imported.refused.keys.sorted() == [3, 4, 5])
        #expect(imported.refused[5] == "token is missing")
        #expect(
            imported.devices == [
                Expected(
                    kind: .androidFCM, uuid: "5e3e9847-3183-3f18-a7e8-671c3a57d4b3", token: "fcm-1",
                    topics: ["giants"], user: "ada", os: "android", lastSeen: "2012-04-28T17:41:09.106Z"),
                Expected(
                    kind: .windows8, token: "https://db3.notify.windows.com/?token=a", os: "winrt",
                    lastSeen: "2012-04-28T17:41:09.106Z"),
            ])
    }

    /// Source: docs.airship.com, API reference, "Channel listing" and "Channel object".
    @Test func `the channels of Airship`() async throws {
        let text = """
            {"ok":true,"channels":[
            {"channel_id":"01234567-890a-4cde-8012-34567890abc0","device_type":"android","installed":true,"opt_in":true,
             "push_address":"fcm-1","created":"2020-03-06T18:52:59","last_registration":"2020-10-07T21:28:35",
             "named_user_id":"ada","alias":"a","tags":["tag1"],"tag_groups":{"device":["tag1"],"loyalty":["gold"]}},
            {"channel_id":"01234567-890a-4cde-8012-34567890abc1","device_type":"web","installed":true,"opt_in":false,
             "push_address":"https://push.example.org/1","tags":[],
             "web":{"subscription":{"p256dh":"P256","auth":"AUTH"}}},
            {"channel_id":"a","device_type":"sms"},
            {"channel_id":"b","device_type":"android","push_address":"x","tags":[7]},
            {"channel_id":"c","device_type":"android","push_address":null}],"next_page":"https://…"}
            """.replacing("AUTH", with: Self.auth).replacing("P256", with: Self.p256dh)
        let imported = try await Self.imported(text, as: .airship)
        #expect(
            imported.refused == [
                3: "device_type is 'sms', which no push provider delivers to",
                4: "tags[0] has to be a string, it is a number", 5: "token is missing",
            ])
        #expect(
            imported.devices
                == [
                    Expected(
                        kind: .androidFCM, uuid: "01234567-890a-4cde-8012-34567890abc0", token: "fcm-1",
                        topics: ["loyalty:gold", "tag1"], user: "ada", alias: "a", lastSeen: "2020-10-07T21:28:35.000Z"),
                    Expected(
                        kind: .web, uuid: "01234567-890a-4cde-8012-34567890abc1",
                        token:
                            #"{"endpoint":"https://push.example.org/1","keys":{"auth":"\#(Self.auth)","p256dh":"\#(Self.p256dh)"}}"#,
                        isActive: false),
                ].sorted { $0.token < $1.token })
    }

    /// Source: learn.microsoft.com, "Export and import Azure Notification Hubs registrations in bulk" and "Create Registration".
    @Test func `the registrations of Azure`() async throws {
        let namespace = #"xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect""#
        let text = """
            <FcmV1RegistrationDescription \(namespace)><ETag>1</ETag><RegistrationId>8247220326459738692-7748251457295450541-4</RegistrationId><Tags>News, a&amp;b,$UserId:{ada},$InstallationId:{5e3e9847-3183-3f18-a7e8-671c3a57d4b3}</Tags><FcmV1RegistrationId>fcm-1</FcmV1RegistrationId></FcmV1RegistrationDescription>
            <WindowsTemplateRegistrationDescription \(namespace)><Tags>x</Tags><ChannelUri>https://db3.notify.windows.com/?token=a&amp;b=1</ChannelUri><BodyTemplate><![CDATA[<toast/>]]></BodyTemplate></WindowsTemplateRegistrationDescription>
            <EmailRegistrationDescription \(namespace)></EmailRegistrationDescription>
            <AdmRegistrationDescription \(namespace)><AdmRegistrationId>unclosed
            <AdmRegistrationDescription \(namespace)><Tags>a</Tags></AdmRegistrationDescription>
            <FcmV1TemplateRegistrationDescription \(namespace)><Tags>late</Tags><FcmV1RegistrationId>fcm-1</FcmV1RegistrationId></FcmV1TemplateRegistrationDescription>
            """
        let imported = try await Self.imported(text, as: .azure)
        #expect(
            imported.refused == [
                3: "row is no RegistrationDescription of a provider that is known",
                4: "AdmRegistrationId is not closed",
                5: "token is missing",
            ])
        #expect(
            imported.devices == [
                Expected(
                    kind: .androidFCM, uuid: "5e3e9847-3183-3f18-a7e8-671c3a57d4b3", token: "fcm-1",
                    topics: ["a&b", "late", "news"], user: "ada"),
                Expected(
                    kind: .windows8, token: "https://db3.notify.windows.com/?token=a&b=1", topics: ["x"]),
            ])
    }

    @Test func `a CSV and lines of JSON by the standard names`() async throws {
        let csv =
            "type,registration_token,device_uuid,tags,custom_user_id,active\n"
            + "android-fcm,fcm-1,5e3e9847-3183-3f18-a7e8-671c3a57d4b3,a|b,ada,true\nios,zz,,,,true\n,fcm-2,,,,true\n"
        let json =
            #"{"type":"android-fcm","registration_token":"fcm-1","device_uuid":"5e3e9847-3183-3f18-a7e8-671c3a57d4b3","#
            + #""tags":["a","b"],"custom_user_id":"ada","active":true}"#
            + "\n{\"type\":\"ios\",\"registration_token\":\"zz\"}\n{\"registration_token\":\"fcm-2\"}\n"
        for (text, format) in [(csv, ImportFormat.csv), (json, .jsonl)] {
            let imported = try await Self.imported(text, as: format)
            #expect(imported.refused.keys.sorted() == [2, 3])
            #expect(
                imported.devices == [
                    Expected(
                        kind: .androidFCM, uuid: "5e3e9847-3183-3f18-a7e8-671c3a57d4b3", token: "fcm-1",
                        topics: ["a", "b"], user: "ada")
                ])
        }
    }
}
