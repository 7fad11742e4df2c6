import BelfryService
import FoundationEssentials
import Testing

/// The devices of a target, decided without a store.
@Suite struct TargetingTests {
    private static func platforms(_ kinds: PlatformKind...) -> [Platform] {
        kinds.enumerated().map { index, kind in
            Platform(
                key: Key(Int64(index + 1)), uuid: UUID(), applicationKey: Key(1), kind: kind, mode: .production,
                name: kind.rawValue, secretHash: [], credentials: Sealed(bytes: []), credentialsVersion: 1, parked: nil,
                createdAt: .zero)
        }
    }

    private static let meant: [(named: [PlatformKind]?, expected: [PlatformKind])] = [
        (nil, [.ios, .android, .androidFCM]), ([.ios], [.ios]), ([.android], [.android, .androidFCM]), ([], []),
        ([.windows8], []),
        ([.ios, .androidFCM], [.ios, .androidFCM]),
    ]

    @Test func `platform types compare by name and follow the list's order`() {
        let all = PlatformKind.allCases
        for left in all {
            for right in all { #expect((left == right) == (left.rawValue == right.rawValue), "\(left), \(right)") }
        }
        #expect(Set(all).count == Set(all.map(\.rawValue)).count)
        #expect(all.reversed().sorted() == all)
    }

    @Test(arguments: meant)
    func `the kinds named are the platforms meant`(named: [PlatformKind]?, expected: [PlatformKind]) throws {
        let all = Self.platforms(.ios, .android, .androidFCM)
        #expect(try Target(platforms: named).platforms(of: all).map(\.kind) == expected)
    }

    @Test func `android means the devices of every Android service`() throws {
        let all = Self.platforms(.ios, .androidFCM, .androidBaidu, .huawei)
        #expect(try Target(platforms: [.android]).platforms(of: all).map(\.kind) == [.androidFCM, .androidBaidu])
        #expect(try Target(platforms: [.androidBaidu]).platforms(of: all).map(\.kind) == [.androidBaidu])
    }

    @Test(arguments: [
        ("everyone", false), ("platform:fcm-topic share:0-50@a", true), ("platform:ios or platform:fcm-topic", true),
        ("-platform:fcm-topic", false), ("device:00112233-4455-6677-8899-aabbccddeeff", true),
    ])
    func `topics of FCM get only what names their type`(text: String, isNamed: Bool) throws {
        let target = Target(try AudienceExpression(text: text, field: "where"))
        let kinds = target.platforms(of: Self.platforms(.ios, .fcmTopic)).map(\.kind)
        #expect(kinds == (isNamed ? [.ios, .fcmTopic] : [.ios]))
    }

    @Test func `devices are exactly those listed, and none means none`() throws {
        let target = try Target(devices: [UUID()], topics: [""], customUserIDs: [""], platforms: [.bb10])
        #expect(target.platforms(of: Self.platforms(.ios)).count == 1)
        #expect(
            target.audience(named: [Key(7), Key(3), Key(7)])
                == .all([.list(.devices([Key(3), Key(7)])), .list(.registered)]))
        #expect(try Target(devices: []).audience(named: []) == .all([.list(.devices([])), .list(.registered)]))
    }

    @Test func `topics and users are any-of, each once and in order`() throws {
        let target = try Target(
            topics: ["News", "art", "news"], customUserIDs: ["b", "a", "b"], isInteractiveOnly: true)
        let lists: [Audience] = [
            .list(.topic("art")), .list(.topic("news")), .list(.customUser("a")), .list(.customUser("b")),
        ]
        #expect(target.audience(named: []) == .all([.any(lists), .list(.interactive)]))
        #expect(Target.everyone.audience(named: []) == .list(.active))
    }

    @Test func `a silent push shows nothing and is a background update`() throws {
        let payload = try IOSPayload(
            .silent(["pivotal.push.geofence_update_available": .string("true")]), receiptID: nil, sentAt: .distantPast)
        #expect(payload.isBackground)
        #expect(
            String(decoding: payload.bytes, as: UTF8.self)
                == #"{"aps":{"content-available":1},"pivotal.push.geofence_update_available":"true"}"#)
    }
}
