import BelfryService
import Testing

@Suite struct InteractivityTests {
    @Test(
        arguments: [
            (.ios, "8.0", .interactive), (.ios, "8", .interactive), (.ios, "17.4.1", .interactive),
            (.ios, "10.0", .interactive), (.ios, "7.1.2", .active), (.ios, "7.99", .active), (.ios, nil, .active),
            (.ios, "", .active), (.ios, "eight", .active), (.ios, ".8", .active), (.ios, "8.x", .interactive),
            (.android, "4.1", .interactive), (.android, "4.0.4", .active), (.android, "4", .active),
            (.android, "14", .interactive), (.androidFCM, "4.10", .interactive), (.androidFCM, "2.3.3", .active),
            (.androidBaidu, "4.1.2", .interactive), (.windows8, "8.1", .active), (.windowsPhone, "8.0", .active),
            (.bb10, "10.3", .active),
        ] as [(PlatformKind, String?, DeviceState)])
    func `buttons begin with iOS 8 and Android 4.1`(kind: PlatformKind, version: String?, expected: DeviceState) {
        #expect(DeviceState(kind: kind, osVersion: version) == expected)
    }

    @Test(arguments: [
        "99999999999999999999.1", "8.99999999999999999999", "-8.0", "８.0", String(repeating: "9.", count: 500),
    ])
    func `an absurd version does no harm`(version: String) {
        _ = DeviceState(kind: .ios, osVersion: version)
    }
}
