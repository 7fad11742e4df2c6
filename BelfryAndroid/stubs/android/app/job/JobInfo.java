package android.app.job;

import android.content.ComponentName;

public class JobInfo {
    public static final int NETWORK_TYPE_ANY = 1;
    public static final int BACKOFF_POLICY_EXPONENTIAL = 1;
    public static final class Builder {
        public Builder(int id, ComponentName service) {}
        public Builder setMinimumLatency(long milliseconds) { return this; }
        public Builder setRequiredNetworkType(int type) { return this; }
        public Builder setBackoffCriteria(long milliseconds, int policy) { return this; }
        public Builder setPersisted(boolean isPersisted) { return this; }
        public JobInfo build() { throw new UnsupportedOperationException(); }
    }
}
