package android.app;

import android.content.ContextWrapper;
import android.content.Intent;
import android.os.Bundle;

public class Activity extends ContextWrapper {
    public Intent getIntent() { throw new UnsupportedOperationException(); }
    protected void onCreate(Bundle state) {}
    protected void onNewIntent(Intent intent) {}
    public final void requestPermissions(String[] permissions, int code) {}
}
