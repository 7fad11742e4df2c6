import BelfryService
import Testing

@Suite struct RegistrationRulesTests {
    private static let one = Key<Device>(1)
    private static let two = Key<Device>(2)

    @Test(
        arguments: [
            (nil, nil, .create),
            (nil, one, .update(one, evicted: nil)),
            (one, nil, .update(one, evicted: nil)),
            (one, one, .update(one, evicted: nil)),
            (one, two, .update(one, evicted: two)),
        ] as [(Key<Device>?, Key<Device>?, RegistrationRules)])
    func `the named device wins the token from its holder`(
        named: Key<Device>?, holder: Key<Device>?, expected: RegistrationRules
    ) {
        #expect(RegistrationRules(named: named, holder: holder) == expected)
    }
}
