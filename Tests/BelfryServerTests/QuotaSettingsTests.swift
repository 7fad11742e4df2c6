import BelfryServer
import BelfryService
import Testing

@Suite struct QuotaSettingsTests {
    private func quotas(_ flags: [String: String]) async throws -> Quotas {
        try await ServerConfiguration.load(flags: flags, environment: [:]).quotas
    }

    @Test func `without settings the standard holds`() async throws {
        #expect(try await quotas([:]) == .standard)
    }

    @Test func `a quota is set, bytes in MiB, zero lifts it`() async throws {
        let quotas = try await quotas(["quota.topics": "7", "quota.content.mib": "2", "quota.devices": "0"])
        #expect(quotas[.topics] == 7)
        #expect(quotas[.content] == 2 << 20)
        #expect(quotas[.devices] == nil)
    }

    @Test(arguments: ["quota.user.devices": "100001", "quota.content.mib": "-1", "quota.location.groups": "many"])
    func `an invalid limit is a fault`(setting: String, value: String) async throws {
        await #expect(throws: ConfigurationFaults.self) { try await quotas([setting: value]) }
    }
}
