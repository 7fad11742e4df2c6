import BelfryProviders
import BelfryServer
import Testing

@Suite struct FCMSettingsTests {
    @Test func `by default no credentials use this machine`() async throws {
        let options = try await ServerConfiguration.load(flags: [:], environment: [:]).providers.fcm
        #expect(options.tokenFolders.isEmpty && options.metadataServer == nil)
    }

    @Test func `folders and a metadata server are named`() async throws {
        let options = try await ServerConfiguration.load(
            flags: [
                "fcm.token.folders": "/var/run/secrets/tokens, /srv/tokens",
                "fcm.metadata.server": "http://metadata.google.internal",
            ], environment: [:]
        ).providers.fcm
        #expect(options.tokenFolders == ["/var/run/secrets/tokens", "/srv/tokens"])
        #expect(options.metadataServer == "http://metadata.google.internal")
    }

    @Test(arguments: [
        ("fcm.token.folders", "tokens"), ("fcm.token.folders", "/"), ("fcm.token.folders", "/srv/a,../b"),
        ("fcm.metadata.server", "metadata.google.internal"), ("fcm.metadata.server", "http://a/b"),
        ("fcm.metadata.server", "http://user@a"), ("fcm.metadata.server", "file:///a"),
    ])
    func `another form is a fault that names the setting`(setting: String, value: String) async throws {
        let faults = await #expect(throws: ConfigurationFaults.self) {
            try await ServerConfiguration.load(flags: [setting: value], environment: [:])
        }
        #expect(faults?.lines.contains { $0.hasPrefix(setting) } == true, "\(String(describing: faults))")
    }
}
